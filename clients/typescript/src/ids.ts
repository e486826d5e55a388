/** Returns 32 random hex digits. Does not use `randomUUID`, which pages without HTTPS do not have. */
export function randomHex(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
