import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { SESSION_MS } from '../domain/common/limits.ts';
import { hashOfSecret } from './keys.ts';

/** Returns a new value of the session cookie, 32 random bytes, and the hash to store. */
export function newSessionToken(): { value: string; hash: string } {
  const value = randomBytes(32).toString('base64url');
  return { value, hash: hashOfSecret(value) };
}

/**
 * Returns the name of the cookie. On HTTPS, the `__Host-` prefix makes browsers require Secure, no Domain and the
 * path `/` (RFC 6265bis, section 4.1.3.2).
 */
export function sessionCookieName(baseUrl: string): string {
  return baseUrl.startsWith('https:') ? '__Host-baton_session' : 'baton_session';
}

/** Returns the `Set-Cookie` value that stores a session, or removes it if `value` is null. */
export function sessionCookie(baseUrl: string, value: string | null): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  const seconds = value === null ? 0 : SESSION_MS / 1_000;
  return `${sessionCookieName(baseUrl)}=${value ?? ''}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`;
}

/**
 * Returns true if a page of this service sent the request. Browsers set `Sec-Fetch-Site` by the address that they see,
 * so it also holds behind a proxy that rewrites the host; no page can set it.
 */
export function isFromOwnPage(
  baseUrl: string,
  { origin, 'sec-fetch-site': site }: Pick<IncomingHttpHeaders, 'origin' | 'sec-fetch-site'>,
): boolean {
  return site === 'same-origin' || isOwnOrigin(baseUrl, origin);
}

/**
 * Returns true if a page of this service sent the request: its `Origin` is the public URL, or, for a loopback
 * address, another name of the same one.
 */
export function isOwnOrigin(baseUrl: string, origin: string | undefined): boolean {
  if (origin === undefined || !URL.canParse(origin)) return false;
  const [ours, theirs] = [new URL(baseUrl), new URL(origin)];
  if (ours.origin === theirs.origin) return true;
  return (
    isLoopback(ours) && isLoopback(theirs) && ours.protocol === theirs.protocol && ours.port === theirs.port
  );
}

function isLoopback(url: URL): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
}
