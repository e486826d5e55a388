/**
 * Returns a function with the same results that remembers them, for up to `most` texts: then it forgets all. For a function that
 * depends on nothing but its text, and for short texts.
 */
export function remembering<T>(compute: (text: string) => T, most = 1_000): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    if (known.size >= most) known.clear();
    const result = compute(text);
    known.set(text, result);
    return result;
  };
}
