import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { OPENID_SIGN_IN_MS } from '../../../domain/common/limits.ts';
import type { OpenIdSecrets } from '../../../security/openid.ts';
import type { Sealing } from '../../../security/sealing.ts';

/** A sign-in that is under way at the provider; its browser alone keeps it. */
export type UnderWay = OpenIdSecrets & { place: string; until: number };

const PLACE = 'cookie.openid';
const underWay = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  place: z.string(),
  until: z.number(),
});

/** The `Set-Cookie` value that keeps a sign-in in its browser, sealed. */
export function keepCookie(baseUrl: string, sealing: Sealing, attempt: UnderWay): string {
  const value = sealing.seal(JSON.stringify(attempt), PLACE);
  return `${cookieName(baseUrl, attempt.state)}=${value}; ${attributes(baseUrl, OPENID_SIGN_IN_MS / 1_000)}`;
}

/** The `Set-Cookie` value that takes it away. */
export function dropCookie(baseUrl: string, state: string): string {
  return `${cookieName(baseUrl, state)}=; ${attributes(baseUrl, 0)}`;
}

/** The sign-in with this state, if this browser has begun it and it is not too old; else null. */
export function keptSignIn(
  { cookie = '' }: IncomingHttpHeaders,
  { baseUrl, sealing, state, now }: { baseUrl: string; sealing: Sealing; state: string; now: Date },
): UnderWay | null {
  const beginning = `${cookieName(baseUrl, state)}=`;
  const found = cookie.split(/; */).find((pair) => pair.startsWith(beginning));
  if (found === undefined) return null;
  const attempt = opened(sealing, found.slice(beginning.length));
  return attempt && attempt.state === state && attempt.until > now.getTime() ? attempt : null;
}

function opened(sealing: Sealing, value: string): UnderWay | null {
  try {
    return underWay.parse(JSON.parse(sealing.open(value, PLACE)));
  } catch {
    return null;
  }
}

/** Each sign-in has a cookie of its own, so that two tabs do not take each other's. */
function cookieName(baseUrl: string, state: string): string {
  const mark = state.replaceAll(/[^\w-]/g, '').slice(0, 8);
  return `${baseUrl.startsWith('https:') ? '__Host-' : ''}baton_openid_${mark}`;
}

function attributes(baseUrl: string, seconds: number): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  return `Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`;
}
