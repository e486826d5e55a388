import { createHash, timingSafeEqual } from 'node:crypto';

/** Returns whether two secrets are the same, in a time that does not depend on where they differ. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(digestOf(one), digestOf(other));
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
