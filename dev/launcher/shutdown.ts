/** A request to stop, from Ctrl-C or another process. */
export type Shutdown = {
  /** Resolves with the signal that requests the stop. */
  requested: Promise<NodeJS.Signals>;
  /** Called between two steps of a start. @throws StopRequested after a request to stop */
  check(): void;
};

export class StopRequested extends Error {
  override name = 'StopRequested';
}

/**
 * The launcher gets one Ctrl-C up to twice: from the terminal, and from npm or `dev/run.mjs`. Signals within this time count as
 * one, in milliseconds.
 */
const SAME_PRESS_MS = 1_000;

/** Listens for signals. A second Ctrl-C during the shutdown calls `atOnce`. */
export function listenForShutdown(atOnce: () => void): Shutdown {
  const request = Promise.withResolvers<NodeJS.Signals>();
  let first: number | null = null;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (first === null) {
        first = Date.now();
        request.resolve(signal);
      } else if (signal === 'SIGINT' && Date.now() - first > SAME_PRESS_MS) {
        atOnce();
      }
    });
  }
  return {
    requested: request.promise,
    check() {
      if (first !== null) throw new StopRequested('stopped before everything was up');
    },
  };
}
