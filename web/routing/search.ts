/** What an address says behind its `?`: plain texts, as people write and read them. */
type PlainSearch = Record<string, string>;

/** `?state=failed,paused&text=a` as an object of texts. */
export function parseSearch(text: string): PlainSearch {
  return Object.fromEntries(new URLSearchParams(text));
}

/** The other way around. Lists are joined by commas; what is empty is left out. */
export function stringifySearch(search: Record<string, unknown>): string {
  const pairs = Object.entries(search).flatMap(([name, value]) => {
    const text = plainText(value);
    return text === '' ? [] : [[name, text]];
  });
  // Commas need no escape here, and addresses with filters read better without.
  const text = new URLSearchParams(pairs).toString().replaceAll('%2C', ',');
  return text === '' ? '' : `?${text}`;
}

/** The words of a list in an address that belong to a closed vocabulary; unknown ones are dropped. */
export function parseList<const T extends string>(value: unknown, vocabulary: readonly T[]): T[] | undefined {
  const given = plainText(value).split(',');
  const known = vocabulary.filter((word) => given.includes(word));
  return known.length > 0 ? known : undefined;
}

/** A text of an address; undefined where it is empty. */
export function parseText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function plainText(value: unknown): string {
  if (Array.isArray(value)) return value.map(plainText).join(',');
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? `${value}`
    : '';
}
