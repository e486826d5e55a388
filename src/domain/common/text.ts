/**
 * Returns whether text can be stored and sent again unchanged: no NUL (PostgreSQL rejects it) and no lone surrogate (it
 * has no UTF-8 form).
 */
export function isStorableText(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** The form of a UUID in lower case. */
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Returns whether {@link isStorableText} holds for every string and field name in a JSON value. */
export function isStorableJson(value: unknown): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (Array.isArray(value)) return value.every(isStorableJson);
  if (value === null || typeof value !== 'object') return true;
  return Object.entries(value).every(([name, inner]) => isStorableText(name) && isStorableJson(inner));
}

/**
 * Returns a short project key for a name: its first ten letters and digits in upper case, without digits at the start;
 * `PROJECT` if none remain.
 */
export function projectKeyFrom(name: string): string {
  const letters = name
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '')
    .replace(/^[0-9]+/, '');
  return letters.slice(0, 10) || 'PROJECT';
}

/** Returns the text without NUL and with lone surrogates replaced, so that it can be stored. */
export function storable(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed();
}

/** Matches the JSON escapes of what {@link storable} changes, and text that looks like such an escape. */
const SUSPECT = /\\u(0000|d[89a-f])/i;

/** Returns a JSON value with all strings and field names {@link storable}; the same value if nothing has to change. */
export function storableJson<Value>(value: Value): Value {
  const json = JSON.stringify(value) ?? '';
  return SUSPECT.test(json) ? (parseStorable(json) as Value) : value;
}

/** Returns a copy of an object of JSON values with all strings and field names {@link storable}. */
export function storableCopy<Value extends object>(value: Value): Value {
  const json = JSON.stringify(value);
  return (SUSPECT.test(json) ? parseStorable(json) : JSON.parse(json)) as Value;
}

function parseStorable(json: string): unknown {
  return JSON.parse(json, (_, inner: unknown) => {
    if (typeof inner === 'string') return storable(inner);
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).map(([name, held]) => [storable(name), held]));
  });
}

/** Returns the beginning of a text, at most `length` UTF-16 units, without half of a character at its end. */
export function truncate(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}

/** Returns `1 entry`, `2 entries`. */
export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${count} ${Number(count) === 1 ? one : many}`;
}
