import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { OPENID_SIGN_IN_MS } from '../../../domain/common/limits.ts';
import type { OpenIdSecrets } from '../../../security/openid.ts';
import type { Sealing } from '../../../security/sealing.ts';

/** A sign-in that is in progress at the provider. Only its browser stores it. */
export type PendingSignIn = OpenIdSecrets & { place: string; until: number };

const PLACE = 'cookie.openid';
const pendingSignIn = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  place: z.string(),
  until: z.number(),
});

/** Returns the `Set-Cookie` value that stores a pending sign-in in its browser, sealed. */
export function pendingSignInCookie(baseUrl: string, sealing: Sealing, attempt: PendingSignIn): string {
  const value = sealing.seal(JSON.stringify(attempt), PLACE);
  return `${cookieName(baseUrl, attempt.state)}=${value}; ${attributes(baseUrl, OPENID_SIGN_IN_MS / 1_000)}`;
}

/** Returns the `Set-Cookie` value that removes a pending sign-in. */
export function expiredCookie(baseUrl: string, state: string): string {
  return `${cookieName(baseUrl, state)}=; ${attributes(baseUrl, 0)}`;
}

/** Returns the pending sign-in with this state; null if this browser did not start it or it has expired. */
export function findPendingSignIn(
  { cookie = '' }: IncomingHttpHeaders,
  { baseUrl, sealing, state, now }: { baseUrl: string; sealing: Sealing; state: string; now: Date },
): PendingSignIn | null {
  const beginning = `${cookieName(baseUrl, state)}=`;
  const found = cookie.split(/; */).find((pair) => pair.startsWith(beginning));
  if (found === undefined) return null;
  const attempt = opened(sealing, found.slice(beginning.length));
  return attempt && attempt.state === state && attempt.until > now.getTime() ? attempt : null;
}

function opened(sealing: Sealing, value: string): PendingSignIn | null {
  try {
    return pendingSignIn.parse(JSON.parse(sealing.open(value, PLACE)));
  } catch {
    return null;
  }
}

/** Each sign-in has its own cookie, so that sign-ins in two tabs do not overwrite each other. */
function cookieName(baseUrl: string, state: string): string {
  const mark = state.replaceAll(/[^\w-]/g, '').slice(0, 8);
  return `${baseUrl.startsWith('https:') ? '__Host-' : ''}baton_openid_${mark}`;
}

function attributes(baseUrl: string, seconds: number): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  return `Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`;
}
