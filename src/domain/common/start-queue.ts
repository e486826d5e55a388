/** Stored work that waits for its start. Times are milliseconds of one clock. */
export type StartQueue<Item> = {
  readonly size: number;
  add(item: Item): void;
  /**
   * Removes and returns the items that the next start takes. Returns the time at which it may begin, if that is after `now`;
   * null if nothing waits.
   */
  take(now: number): readonly [Item, ...Item[]] | number | null;
  clear(): void;
};

/** Creates a queue whose starts take at most `batch` items, in their order, each at least `restMs` after the last one. */
export function createStartQueue<Item>({
  batch,
  restMs,
}: {
  batch: number;
  restMs: number;
}): StartQueue<Item> {
  let waiting: Item[] = [];
  let notBefore = Number.NEGATIVE_INFINITY;
  return {
    get size() {
      return waiting.length;
    },
    add: (item) => void waiting.push(item),
    take(now) {
      if (waiting.length === 0) return null;
      if (now < notBefore) return notBefore;
      notBefore = now + restMs;
      return waiting.splice(0, batch) as [Item, ...Item[]];
    },
    clear() {
      waiting = [];
    },
  };
}
