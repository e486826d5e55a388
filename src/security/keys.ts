import { randomBytes, createHash, randomInt } from 'node:crypto';

/** What a new secret looks like once: the text for its owner, and what is stored of it. */
export type NewKey = { key: string; prefix: string; hash: string };

const PREFIX_ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const PREFIX_LENGTH = 8;
const KEY_FORM = /^(bt_[a-z0-9]{8})_[A-Za-z0-9_-]{43}$/;

/** A new API key: `bt_`, a readable prefix, and 32 random bytes. The prefix is no secret and stands in lists. */
export function newApiKey(): NewKey {
  const readable = Array.from(
    { length: PREFIX_LENGTH },
    () => PREFIX_ALPHABET[randomInt(PREFIX_ALPHABET.length)],
  );
  return keyOf(`bt_${readable.join('')}_${randomBytes(32).toString('base64url')}`);
}

/**
 * The stored form of a key that somebody else made.
 * @throws where the text does not have the form of a key
 */
export function keyOf(key: string): NewKey {
  const prefix = KEY_FORM.exec(key)?.[1];
  if (prefix === undefined)
    throw new Error('an API key must be bt_ + 8 letters or digits + _ + 43 base64url characters');
  return { key, prefix, hash: hashOfSecret(key) };
}

/** True for text that may be an API key; anything else need not be looked up. */
export function looksLikeKey(text: string): boolean {
  return KEY_FORM.test(text);
}

/**
 * SHA-256 of a secret of 256 random bits, hex. Such secrets are found by an index on this value: whoever
 * measures the look-up's time learns about a hash, which leads to no secret.
 */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret, 'utf8').digest('hex');
}

/** The token of a new invitation, 32 random bytes, and the hash that is stored of it. */
export function newInvitationToken(): { token: string; hash: string } {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashOfSecret(token) };
}

/** The link that is shown once. What is behind `#` stays in the browser and reaches no log. */
export function invitationLink(baseUrl: string, token: string): string {
  return `${baseUrl}/invitation#${token}`;
}
