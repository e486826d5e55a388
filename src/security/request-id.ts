import { randomUUIDv7 } from 'node:crypto';

const ACCEPTED = /^[A-Za-z0-9._~:/+=@-]{1,128}$/;

/** Returns the caller's `X-Request-Id` if it is short and plain, otherwise a new id. */
export function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && ACCEPTED.test(given) ? given : randomUUIDv7();
}
