/** Returns whether each typed word is the beginning of a word of the text. No typed word matches every text. */
export function matchesWords(typed: string, text: string): boolean {
  const words = wordsOf(text);
  return wordsOf(typed).every((beginning) => words.some((word) => word.startsWith(beginning)));
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

/** Returns the key of the entry that is `by` entries after the chosen one, around the ends. */
export function stepFrom(
  keys: readonly string[],
  chosen: string | undefined,
  by: -1 | 1,
): string | undefined {
  const index = chosen === undefined ? -1 : keys.indexOf(chosen);
  if (index === -1) return by === 1 ? keys[0] : keys.at(-1);
  return keys[(index + by + keys.length) % keys.length];
}
