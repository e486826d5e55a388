/** A body as received over the network. A string stands for its UTF-8 bytes. */
export type RawBody = Uint8Array | ArrayBuffer | string;

const encoder = new TextEncoder();

/** Returns a copy of the body as bytes. */
export function toBytes(body: RawBody): Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return encoder.encode(body);
  // A copy, so that the caller cannot change the body between its verification and its parsing.
  return ArrayBuffer.isView(body) ? new Uint8Array(body) : new Uint8Array(body.slice(0));
}

/**
 * Imports a secret as an HMAC key. The key is the UTF-8 bytes of the secret, even if the secret looks like hex or base64.
 * @throws TypeError if the secret is empty
 */
export async function importKey(secret: string): Promise<CryptoKey> {
  if (secret === '') throw new TypeError('The secret is empty.');
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['verify']);
}

/** Returns true if one of the signatures matches the bytes and one of the keys. Compares in constant time. */
export async function isSigned(
  bytes: Uint8Array<ArrayBuffer>,
  signatures: readonly Uint8Array<ArrayBuffer>[],
  keys: readonly CryptoKey[],
): Promise<boolean> {
  const pairs = signatures.flatMap((signature) => keys.map((key) => ({ signature, key })));
  const results = await Promise.all(
    pairs.map(({ signature, key }) => crypto.subtle.verify('HMAC', key, signature, bytes)),
  );
  return results.includes(true);
}

/** Returns the bytes of 64 lowercase hex digits, or null for any other text. */
export function decodeHex(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[0-9a-f]{64}$/.test(text)) return null;
  return Uint8Array.from({ length: 32 }, (_, index) =>
    Number.parseInt(text.slice(2 * index, 2 * index + 2), 16),
  );
}

/** Returns the 32 bytes of a signature in base64, or null for any other text. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) return null;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** Returns the bytes of `head` followed by the bytes of `body`. */
export function concatenate(head: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const first = encoder.encode(head);
  const all = new Uint8Array(first.length + body.length);
  all.set(first);
  all.set(body, first.length);
  return all;
}
