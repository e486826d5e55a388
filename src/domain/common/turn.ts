/** Time for which a piece of work occupies the process, in milliseconds. */
const TURN_MS = 10;

/** A turn of the event loop. Long work ends it after a few milliseconds, so that the process does other work as well. */
export type Turn = {
  isOver(): boolean;
  /** Resolves when the next turn begins. */
  next(): Promise<void>;
};

export function beginTurn(): Turn {
  let begun = performance.now();
  return {
    isOver: () => performance.now() - begun >= TURN_MS,
    async next() {
      await new Promise(setImmediate);
      begun = performance.now();
    },
  };
}
