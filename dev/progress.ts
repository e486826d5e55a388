import { performance } from 'node:perf_hooks';

/** Shows work step by step: what is being done now, and how long each step took. */
export type Progress = {
  /** Runs a step under a title. What `work` answers may tell more in `detail`. */
  step<T>(
    title: string,
    work: (say: (sentence: string) => void) => Promise<T>,
    detail?: (made: T) => string,
  ): Promise<T>;
  say(sentence: string): void;
};

type Output = Pick<NodeJS.WriteStream, 'write'> & { isTTY?: boolean };

/** Progress on a terminal (the running step's line is replaced when it is done) or in a log (one line a step). */
export function progressOn(output: Output, clock: () => number = () => performance.now()): Progress {
  const live = output.isTTY === true;
  const say = (sentence: string) => output.write(`${live ? '\r\u001b[K' : ''}    ${sentence}\n`);
  return {
    say,
    async step(title, work, detail) {
      const began = clock();
      const wait = `  … ${title}`;
      if (live) output.write(wait);
      try {
        const made = await work((sentence) => {
          say(sentence);
          if (live) output.write(wait);
        });
        const more = detail?.(made) ?? '';
        const line = `  ✓ ${title.padEnd(22)} ${inSeconds(clock() - began)}  ${more}`.trimEnd();
        output.write(`${live ? '\r\u001b[K' : ''}${line}\n`);
        return made;
      } catch (error) {
        output.write(`${live ? '\r\u001b[K' : ''}  ✗ ${title.padEnd(22)} ${inSeconds(clock() - began)}\n`);
        throw error;
      }
    },
  };
}

/** Milliseconds as seconds in a column. */
export function inSeconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1).padStart(5)} s`;
}
