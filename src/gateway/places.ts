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
  const taken = new Map<string, number>();
  let total = 0;

  function add(keys: readonly string[], change: 1 | -1): void {
    total += change;
    for (const key of keys) {
      const count = (taken.get(key) ?? 0) + change;
      if (count === 0) taken.delete(key);
      else taken.set(key, count);
    }
  }

  return {
    take(limits) {
      const keys = Object.keys(limits);
      const isFull = Object.entries(limits).some(([key, most]) => (taken.get(key) ?? 0) >= most);
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
