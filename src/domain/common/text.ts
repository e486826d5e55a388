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
