/** Numbers by key, none of them negative. A key at zero occupies no memory. */
export type Counts = {
  of(key: string): number;
  add(key: string, change: number): void;
};

/** Creates counts that are all zero. */
export function createCounts(): Counts {
  const counts = new Map<string, number>();
  return {
    of: (key) => counts.get(key) ?? 0,
    add(key, change) {
      const count = (counts.get(key) ?? 0) + change;
      if (count > 0) counts.set(key, count);
      else counts.delete(key);
    },
  };
}
