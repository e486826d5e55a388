/** Limited places, by key and overall. */
export type Places = {
  /** Takes a place and returns the function that frees it; null if none is free. */
  take(key: string): (() => void) | null;
};

/** Creates places that are all free. */
export function createPlaces(limits: { perKey: number; overall: number }): Places {
  const taken = new Map<string, number>();
  let total = 0;
  return {
    take(key) {
      const count = taken.get(key) ?? 0;
      if (total >= limits.overall || count >= limits.perKey) return null;
      taken.set(key, count + 1);
      total += 1;
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        total -= 1;
        const left = (taken.get(key) ?? 1) - 1;
        if (left === 0) taken.delete(key);
        else taken.set(key, left);
      };
    },
  };
}
