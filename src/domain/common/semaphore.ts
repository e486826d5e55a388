/** Runs work, at most a number of pieces at once. The others wait for their turn, in order. */
export type Semaphore = { run<Result>(work: () => Promise<Result>): Promise<Result> };

/** Creates a semaphore with this many places. */
export function createSemaphore(places: number): Semaphore {
  let free = places;
  const waiting: (() => void)[] = [];
  return {
    async run(work) {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => void waiting.push(resolve));
      try {
        return await work();
      } finally {
        // The place goes to the next one without becoming free, so nobody overtakes.
        const next = waiting.shift();
        if (next) next();
        else free += 1;
      }
    },
  };
}
