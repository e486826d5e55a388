import { hash, randomBytes, randomInt } from 'node:crypto';

/** A new secret, shown once, with the prefix and the hash that are stored. */
export type NewKey = { key: string; prefix: string; hash: string };

const PREFIX_ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const PREFIX_LENGTH = 8;
const KEY_FORM = /^(bt_[a-z0-9]{8})_[A-Za-z0-9_-]{43}$/;

/**
 * Returns a new API key: `bt_`, a readable prefix, and 32 random bytes. The prefix is not secret and is shown in
 * lists.
 */
export function newApiKey(): NewKey {
  const readable = Array.from(
    { length: PREFIX_LENGTH },
    () => PREFIX_ALPHABET[randomInt(PREFIX_ALPHABET.length)],
  );
  return keyOf(`bt_${readable.join('')}_${randomBytes(32).toString('base64url')}`);
}

/**
 * Returns the stored form of a given key.
 * @throws Error if the text does not have the form of a key
 */
export function keyOf(key: string): NewKey {
  const prefix = KEY_FORM.exec(key)?.[1];
  if (prefix === undefined)
    throw new Error('an API key must be bt_ + 8 letters or digits + _ + 43 base64url characters');
  return { key, prefix, hash: hashOfSecret(key) };
}

/** Returns true for text that has the form of an API key; other text need not be looked up. */
export function looksLikeKey(text: string): boolean {
  return KEY_FORM.test(text);
}

/**
 * Returns the SHA-256 of a secret of 256 random bits, in hex. Secrets are found by an index on this value. The time
 * of a lookup reveals at most a hash, which does not reveal the secret.
 */
export function hashOfSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** Returns a new invitation token of 32 random bytes, and the hash to store. */
export function newInvitationToken(): { token: string; hash: string } {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashOfSecret(token) };
}

/** Returns the link of an invitation, shown once. The part behind `#` stays in the browser and is not logged. */
export function invitationLink(baseUrl: string, token: string): string {
  return `${baseUrl}/invitation#${token}`;
}
