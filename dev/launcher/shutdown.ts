/** The wish to stop, from Ctrl-C or another process. */
export type Shutdown = {
  /** Resolves with the signal when somebody wants the launcher to stop. */
  wished: Promise<NodeJS.Signals>;
  /** @throws StopWished between two steps of a start that is no longer wanted */
  check(): void;
};

export class StopWished extends Error {
  override name = 'StopWished';
}

/** Ctrl-C reaches the launcher from the terminal, from npm and from the first step: within this time it is one. */
const SAME_PRESS_MS = 1_000;

/** Listens for signals. A second Ctrl-C, when the first is still being worked on, ends everything at once. */
export function listenForShutdown(atOnce: () => void): Shutdown {
  const wish = Promise.withResolvers<NodeJS.Signals>();
  let first: number | null = null;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (first === null) {
        first = Date.now();
        wish.resolve(signal);
      } else if (signal === 'SIGINT' && Date.now() - first > SAME_PRESS_MS) {
        atOnce();
      }
    });
  }
  return {
    wished: wish.promise,
    check() {
      if (first !== null) throw new StopWished('stopped before everything was up');
    },
  };
}
