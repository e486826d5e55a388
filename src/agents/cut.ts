/** Returns the longest prefix of `text` that fits into `limit` bytes of UTF-8, with a note if it was cut. */
export function cutText(text: string, limit: number): { text: string; truncated: boolean } {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return { text: text.toWellFormed(), truncated: false };
  const note = `\n[cut: ${bytes.length} bytes in all]`;
  const room = Math.max(0, limit - Buffer.byteLength(note));
  // A character cut in half decodes to U+FFFD at the end.
  const kept = bytes
    .subarray(0, room)
    .toString('utf8')
    .replace(/\uFFFD$/, '');
  return { text: kept + note, truncated: true };
}

/**
 * Returns a value for the record: unchanged if its JSON fits into `limit` bytes, else the beginning of that JSON as
 * text.
 */
export function cutValue(value: unknown, limit: number): { value: unknown; truncated: boolean } {
  const json = JSON.stringify(value) ?? 'null';
  if (Buffer.byteLength(json) <= limit) return { value, truncated: false };
  return { value: cutText(json, limit).text, truncated: true };
}
