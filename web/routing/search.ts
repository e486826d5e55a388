/** The query parameters of an address, as plain text. */
type PlainSearch = Record<string, string>;

/** Returns `?state=failed,paused&text=a` as an object of strings. */
export function parseSearch(text: string): PlainSearch {
  return Object.fromEntries(new URLSearchParams(text));
}

/** Returns query parameters as text. Joins lists with commas and omits empty values. */
export function stringifySearch(search: Record<string, unknown>): string {
  const pairs = Object.entries(search).flatMap(([name, value]) => {
    const text = plainText(value);
    return text === '' ? [] : [[name, text]];
  });
  // Commas need no escape here, and addresses with filters are easier to read without it.
  const text = new URLSearchParams(pairs).toString().replaceAll('%2C', ',');
  return text === '' ? '' : `?${text}`;
}

/** Returns the values of a comma-separated list that are in `vocabulary`. Unknown values are dropped. */
export function parseList<const T extends string>(value: unknown, vocabulary: readonly T[]): T[] | undefined {
  const given = plainText(value).split(',');
  const known = vocabulary.filter((word) => given.includes(word));
  return known.length > 0 ? known : undefined;
}

/** Returns a text parameter; undefined if it is empty. */
export function parseText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function plainText(value: unknown): string {
  if (Array.isArray(value)) return value.map(plainText).join(',');
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? `${value}`
    : '';
}
