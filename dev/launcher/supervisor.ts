import { inWords, tailOf, type Ending } from '../common/processes.ts';

/** A child that runs; `stop` ends it in good order. */
export type Child = { pid: number; ended: Promise<Ending>; stop(): Promise<unknown> };

export type Charge<T extends Child> = {
  name: string;
  logFile: string;
  /** Starts it; called again, with what ran before, whenever it has ended by itself. */
  start(previous: T | null): Promise<T>;
  /** Called after each start, including the first one. */
  onStarted(child: T): void;
};

export type Watch<T extends Child> = { current(): T; stop(): Promise<void> };

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/** After so long a life an end counts as the first one again. */
const STEADY_MS = 30_000;

/**
 * Starts a child and keeps it running: an end that nobody asked for is told in a sentence with the tail of its log,
 * and it is started again, after longer and longer pauses when it doesn't last.
 * @throws when the first start fails
 */
export async function keepRunning<T extends Child>(
  charge: Charge<T>,
  say: (sentence: string) => void,
): Promise<Watch<T>> {
  const stopping = Promise.withResolvers<'stopping'>();
  let child = await charge.start(null);
  charge.onStarted(child);

  const watching = (async () => {
    for (let pause = FIRST_PAUSE_MS; ; ) {
      const began = Date.now();
      const ending = await Promise.race([child.ended, stopping.promise]);
      if (ending === 'stopping') return;
      if (Date.now() - began > STEADY_MS) pause = FIRST_PAUSE_MS;
      say(`${charge.name} ended unexpectedly ${inWords(ending)}. ${lastWords(charge.logFile)}`);
      for (let again: T | null = null; again === null; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
        if ((await Promise.race([delay(pause), stopping.promise])) === 'stopping') return;
        again = await charge.start(child).catch((error: Error) => {
          say(`${charge.name} could not be restarted: ${error.message}. Retrying …`);
          return null;
        });
        if (again !== null) child = again;
      }
      charge.onStarted(child);
      say(`${charge.name} was restarted.`);
    }
  })();

  return {
    current: () => child,
    async stop() {
      stopping.resolve('stopping');
      await watching; // a start in flight comes to its end first, so that nothing is left behind
      await child.stop();
    },
  };
}

function lastWords(logFile: string): string {
  const tail = tailOf(logFile, 5);
  return tail === ''
    ? `Its log, ${logFile}, is empty.`
    : `Last lines of ${logFile}:\n${tail.replaceAll(/^/gm, '      ')}`;
}

function delay(ms: number): Promise<'waited'> {
  return new Promise((resolve) => setTimeout(() => resolve('waited'), ms));
}
