import { performance } from 'node:perf_hooks';

/** Prints a sentence about the current step. */
export type Say = (sentence: string) => void;

/** Shows which step is in progress, and how long each step took. */
export type Progress = {
  /** Runs a step with a title. `detail` describes its result. Steps may run concurrently. */
  step<T>(title: string, work: (say: Say) => Promise<T>, detail?: (made: T) => string): Promise<T>;
  say: Say;
};

type Output = Pick<NodeJS.WriteStream, 'write'> & { isTTY?: boolean };

const TICK_MS = 100;
const CLEAR_LINE = '\r\u001b[K';

/**
 * Creates the progress display. On a terminal, the last line shows the steps in progress and their durations. In a log,
 * each step has one line when it ends.
 */
export function progressOn(output: Output, clock: () => number = () => performance.now()): Progress {
  const live = output.isTTY === true;
  const running = new Map<string, number>();
  let ticking: NodeJS.Timeout | undefined;

  const status = () =>
    [...running].map(([title, began]) => `${title} ${inSeconds(clock() - began).trim()}`).join(', ');
  const redraw = () => output.write(`${CLEAR_LINE}${running.size > 0 ? `  … ${status()}` : ''}`);
  const line = (text: string) => {
    output.write(`${live ? CLEAR_LINE : ''}${text}\n`);
    if (live) redraw();
  };
  const begin = (title: string) => {
    running.set(title, clock());
    if (!live) return;
    redraw();
    ticking ??= setInterval(redraw, TICK_MS).unref();
  };
  const end = (title: string, mark: string, detail: string) => {
    const took = clock() - (running.get(title) ?? clock());
    running.delete(title);
    if (running.size === 0) {
      clearInterval(ticking);
      ticking = undefined;
    }
    line(`  ${mark} ${title.padEnd(22)} ${inSeconds(took)}  ${detail}`.trimEnd());
  };
  return {
    say: (sentence) => line(`    ${sentence}`),
    async step(title, work, detail) {
      begin(title);
      try {
        const made = await work((sentence) => line(`    ${sentence}`));
        end(title, '✓', detail?.(made) ?? '');
        return made;
      } catch (error) {
        end(title, '✗', '');
        throw error;
      }
    },
  };
}

/** Formats milliseconds as seconds, with a fixed width. */
export function inSeconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1).padStart(5)} s`;
}
