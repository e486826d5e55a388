import { describeEnding, tailOf, type Ending } from '../common/processes.ts';

/** A running child process. `stop` shuts it down. */
export type Child = { pid: number; ended: Promise<Ending>; stop(): Promise<unknown> };

export type ChildPlan<T extends Child> = {
  name: string;
  logFile: string;
  /** Starts the child. Called again when it has exited by itself, with the previous child. */
  start(previous: T | null): Promise<T>;
  /** Called after each start, including the first one. An error is reported, and the child keeps running. */
  onStarted(child: T): void;
};

export type Supervised<T extends Child> = { current(): T; stop(): Promise<void> };

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/** After this time, in milliseconds, the pauses between restarts begin at the shortest one again. */
const STEADY_MS = 30_000;

/**
 * Starts a child and restarts it when it exits unexpectedly. Reports this with the end of its log. The pause before a
 * restart doubles while the child keeps exiting.
 * @throws if the first start fails
 */
export async function keepRunning<T extends Child>(
  plan: ChildPlan<T>,
  say: (sentence: string) => void,
): Promise<Supervised<T>> {
  const stopping = Promise.withResolvers<'stopping'>();
  const record = (started: T) => {
    try {
      plan.onStarted(started);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      say(`${plan.name} is running, but its start could not be recorded: ${reason}`);
    }
  };
  let child = await plan.start(null);
  record(child);

  const watching = (async () => {
    for (let pause = FIRST_PAUSE_MS; ; ) {
      const began = Date.now();
      const ending = await Promise.race([child.ended, stopping.promise]);
      if (ending === 'stopping') return;
      if (Date.now() - began > STEADY_MS) pause = FIRST_PAUSE_MS;
      say(`${plan.name} ended unexpectedly ${describeEnding(ending)}. ${lastWords(plan.logFile)}`);
      for (let again: T | null = null; again === null; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
        if ((await Promise.race([delay(pause), stopping.promise])) === 'stopping') return;
        again = await plan.start(child).catch((error: Error) => {
          say(`${plan.name} could not be restarted: ${error.message}. Retrying …`);
          return null;
        });
        if (again !== null) child = again;
      }
      record(child);
      say(`${plan.name} was restarted.`);
    }
  })();

  return {
    current: () => child,
    async stop() {
      stopping.resolve('stopping');
      await watching; // waits for a start in progress, so that nothing is left behind
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
