import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify(argon2);

/** Cost of a new hash: 19 MiB, two passes, one lane (OWASP Password Storage Cheat Sheet, Argon2id). */
const COST = { memory: 19_456, passes: 2, parallelism: 1 };
const TAG_BYTES = 32;
const SALT_BYTES = 16;
/** Limit for a stored hash, so that a manipulated row cannot use all memory. */
const MAX_MEMORY = 1_048_576;
const PHC_FORM = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** Returns the Argon2id hash of a password as a PHC string, computed off the main thread. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(SALT_BYTES);
  const tag = await derive('argon2id', {
    message: password.normalize('NFC'),
    nonce,
    tagLength: TAG_BYTES,
    ...COST,
  });
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${base64(nonce)}$${base64(tag)}`;
}

/**
 * Returns true if the password matches the hash. With `null` (unknown account, or no password) it takes as long as
 * for a wrong password and returns false, so that the time does not reveal which accounts exist.
 */
export async function verifyPassword(password: string, phc: string | null): Promise<boolean> {
  const match = phc === null ? null : PHC_FORM.exec(phc);
  const [, memory, passes, parallelism, salt, stored] = match ?? [];
  if (salt === undefined || stored === undefined || Number(memory) > MAX_MEMORY) {
    await hashPassword(password);
    return false;
  }
  const expected = Buffer.from(stored, 'base64');
  const tag = await derive('argon2id', {
    message: password.normalize('NFC'),
    nonce: Buffer.from(salt, 'base64'),
    tagLength: expected.length,
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
  });
  return timingSafeEqual(tag, expected);
}

/** Returns a password for a first sign-in: 20 characters of base64url, 120 random bits. */
export function newPassword(): string {
  return randomBytes(15).toString('base64url');
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}
