/** How long an opened secret stays in memory, in milliseconds. A busy process can be late with forgetting it. */
const KEEP_MS = 1_000;

/** Opens a sealed secret of the owner with this id, and throws if it cannot be opened. */
type Open = (sealed: string, id: string) => string;

/**
 * Returns `open` with a short memory, for secrets that many requests need within a second: to open one takes longer than to sign
 * with it. All are forgotten a second after the first one was opened.
 */
export function rememberingOpened(open: Open, keepMs = KEEP_MS): Open {
  const opened = new Map<string, string>();
  return (sealed, id) => {
    const key = `${id} ${sealed}`;
    const known = opened.get(key);
    if (known !== undefined) return known;
    const plain = open(sealed, id);
    if (opened.size === 0) setTimeout(() => opened.clear(), keepMs).unref();
    opened.set(key, plain);
    return plain;
  };
}
