/** 32 hex digits by chance; also on pages without HTTPS, where `randomUUID` is not to be had. */
export function randomHex(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
