import assert from 'node:assert/strict';
import { join } from 'node:path';

/** Something that might contain a secret. `name` begins with its kind: history, answer, table or file. */
export type Place = { name: string; content: Buffer };

/** Returns the forms in which a value can appear: unchanged and in the usual encodings. */
export function formsOf(value: string): Buffer[] {
  const bytes = Buffer.from(value);
  const forms = [value, encodeURIComponent(value), bytes.toString('hex'), ...base64Forms(bytes)];
  const isHex = /^([0-9a-f]{2}){16,}$/.test(value);
  const decoded = isHex ? Buffer.from(value, 'hex') : null;
  return [
    ...forms.map((form) => Buffer.from(form)),
    ...(decoded ? [decoded, ...base64Forms(decoded).map((form) => Buffer.from(form))] : []),
  ];
}

/** Returns Base64 of the middle of the value, for each of the three offsets in a longer text. */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((shift) => {
    const end = bytes.length - ((bytes.length - shift) % 3);
    const middle = bytes.subarray(shift, end);
    return [middle.toString('base64'), middle.toString('base64url')];
  });
}

export function containsAny(content: Buffer, forms: readonly Buffer[]): boolean {
  return forms.some((form) => content.includes(form));
}

/** Returns the names of the places that contain the value in any form. */
export function placesHolding(places: readonly Place[], value: string): string[] {
  const forms = formsOf(value);
  return places.filter(({ content }) => containsAny(content, forms)).map(({ name }) => name);
}

/**
 * Asserts that the search finds a value that is not secret in each kind of place. Otherwise finding no secret would
 * prove nothing. Returns the places.
 */
export function assertFoundEverywhere(places: readonly Place[], value: string): string[] {
  const found = placesHolding(places, value);
  for (const kind of ['history', 'answer', 'table', 'file'])
    assert.ok(
      found.some((name) => name.startsWith(kind)),
      `${value} in a ${kind}`,
    );
  return found;
}

/** Asserts that these files are among the places and are not empty. */
export function assertFilesSearched(places: readonly Place[], files: readonly string[]): void {
  for (const file of files)
    assert.ok(
      places.some(({ name, content }) => name.endsWith(join('/', file)) && content.length > 0),
      file,
    );
}
