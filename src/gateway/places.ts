import { createCounts } from '../domain/common/counts.ts';

/** Limited places, by keys and overall. */
export type Places = {
  /**
   * Takes a place that counts for each of these keys, which have as many places at most. Returns the function that frees it;
   * null if none is free.
   */
  take(keys: Readonly<Record<string, number>>): (() => void) | null;
};

/** Creates places that are all free. */
export function createPlaces(overall: number): Places {
  const taken = createCounts();
  let total = 0;

  function add(keys: readonly string[], change: 1 | -1): void {
    total += change;
    for (const key of keys) taken.add(key, change);
  }

  return {
    take(limits) {
      const keys = Object.keys(limits);
      const isFull = Object.entries(limits).some(([key, most]) => taken.of(key) >= most);
      if (isFull || total >= overall) return null;
      add(keys, 1);
      let isHeld = true;
      return () => {
        if (isHeld) add(keys, -1);
        isHeld = false;
      };
    },
  };
}
