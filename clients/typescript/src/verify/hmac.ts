/** A body as it came over the wire. A text is taken for its UTF-8 bytes. */
export type RawBody = Uint8Array | ArrayBuffer | string;

const encoder = new TextEncoder();

export function bytesOf(body: RawBody): Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return encoder.encode(body);
  // A copy: nobody can change what is checked before it is parsed.
  return ArrayBuffer.isView(body) ? new Uint8Array(body) : new Uint8Array(body.slice(0));
}

/** The key is the secret's UTF-8 bytes, also where the secret looks like hex or base64. */
export async function keyOf(secret: string): Promise<CryptoKey> {
  if (secret === '') throw new TypeError('The secret is empty.');
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['verify']);
}

/** True where one of the signatures was made of these bytes with one of the keys. Compares in constant time. */
export async function isSigned(
  bytes: Uint8Array<ArrayBuffer>,
  signatures: readonly Uint8Array<ArrayBuffer>[],
  keys: readonly CryptoKey[],
): Promise<boolean> {
  const pairs = signatures.flatMap((signature) => keys.map((key) => ({ signature, key })));
  const verdicts = await Promise.all(
    pairs.map(({ signature, key }) => crypto.subtle.verify('HMAC', key, signature, bytes)),
  );
  return verdicts.includes(true);
}

/** The bytes of 64 lowercase hex digits; null for anything else. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[0-9a-f]{64}$/.test(text)) return null;
  return Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

/** The bytes of a signature in base64; null for anything else. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]{43}=$/.test(text)) return null;
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** One sequence of bytes behind another. */
export function joined(head: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const first = encoder.encode(head);
  const all = new Uint8Array(first.length + body.length);
  all.set(first);
  all.set(body, first.length);
  return all;
}
