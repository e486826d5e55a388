/**
 * True for text that can be stored and sent again unchanged: no NUL (PostgreSQL refuses it) and no lone
 * surrogate (it has no UTF-8 form).
 */
export function isStorableText(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** The same for every string and member name inside a JSON value. */
export function isStorableJson(value: unknown): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (Array.isArray(value)) return value.every(isStorableJson);
  if (value === null || typeof value !== 'object') return true;
  return Object.entries(value).every(([name, inner]) => isStorableText(name) && isStorableJson(inner));
}

/** A project's short key from its name: its first letters and digits in upper case, `PROJECT` where there are none. */
export function projectKeyFrom(name: string): string {
  const letters = name
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '')
    .replace(/^[0-9]+/, '');
  return letters.slice(0, 10) || 'PROJECT';
}

/** Text as it can be stored: without NUL, and well-formed. */
export function storable(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed();
}
