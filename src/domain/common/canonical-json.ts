/**
 * Returns the same text for all JSON texts with the same content: fields sorted, no white space, numbers as JavaScript
 * writes them (the idea of RFC 8785). Returns null if a number is not represented exactly, since different numbers
 * would get the same text. Recursive, so the depth of `value` must be bounded.
 */
export function canonicalJson(value: unknown): string | null {
  if (typeof value === 'number') return isExact(value) ? String(value) : null;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) {
    const entries: string[] = [];
    for (const entry of value) {
      const text = canonicalJson(entry);
      if (text === null) return null;
      entries.push(text);
    }
    return `[${entries.join(',')}]`;
  }
  const fields: string[] = [];
  for (const name of Object.keys(value).toSorted()) {
    const text = canonicalJson((value as Record<string, unknown>)[name]);
    if (text === null) return null;
    fields.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${fields.join(',')}}`;
}

/**
 * Whether a text may contain a number that JavaScript rounds: with 16 digits, or an exponent of three digits. Each run of
 * digits is tested once, from its start.
 */
const LONG_NUMBER = /(?<![\d.])[\d.]{16}|[eE][+-]?\d{3}/;

/**
 * Returns whether a JSON text contains a number that JavaScript rounds to another one. The depth of its value must be
 * bounded.
 */
export function hasRoundedNumber(text: string): boolean {
  if (!LONG_NUMBER.test(text)) return false;
  let found = false;
  const read = (_: string, value: unknown, { source = '' }: { source?: string }): unknown => {
    if (typeof value === 'number' && source !== String(value))
      found ||= digitsOf(source) !== digitsOf(String(value));
    return value;
  };
  JSON.parse(text, read as (name: string, value: unknown) => unknown);
  return found;
}

/** Returns the same text for all notations of a number: its digits without zeros around them, and its exponent. */
function digitsOf(number: string): string {
  const [mantissa = '', exponent = '0'] = number.replace(/^-/, '').toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  return short === '' ? '0' : `${short}e${Number(exponent) - fraction.length + digits.length - short.length}`;
}

/** Returns whether objects and lists in a JSON value are nested more than `levels` deep, counting the value itself. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (levels === 0) return true;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    if (isDeeperThan(inner, levels - 1)) return true;
  }
  return false;
}

function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
