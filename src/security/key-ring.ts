/** Named symmetric keys: the first key encrypts, all keys decrypt. */
export type KeyRing = { first: RingKey; find(id: string): Uint8Array | undefined };
export type RingKey = { id: string; bytes: Uint8Array };

const ENTRY_FORM = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/_-]{43}=?)$/;

/** @throws Error with a sentence that contains no key material */
export function parseKeyRing(text: string): KeyRing {
  const keys = text.split(',').map((entry) => parseEntry(entry.trim()));
  const byId = new Map(keys.map((key) => [key.id, key.bytes]));
  const first = keys[0];
  if (!first || byId.size !== keys.length) throw new Error('two keys have the same id');
  return { first, find: (id) => byId.get(id) };
}

function parseEntry(entry: string): RingKey {
  const [, id, encoded] = ENTRY_FORM.exec(entry) ?? [];
  const bytes = Buffer.from(encoded ?? '', 'base64');
  if (id === undefined || bytes.length !== 32) {
    throw new Error('each key must be an id of letters and digits, a colon, and 32 bytes in base64');
  }
  return { id, bytes };
}
