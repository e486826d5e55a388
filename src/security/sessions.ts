import { randomBytes } from 'node:crypto';
import { hashOfSecret } from './keys.ts';

/** How long a sign-in lasts, in milliseconds. */
export const SESSION_MS = 14 * 24 * 3_600_000;

/** A new value for the session cookie, 32 random bytes, and the hash that is stored of it. */
export function newSessionToken(): { value: string; hash: string } {
  const value = randomBytes(32).toString('base64url');
  return { value, hash: hashOfSecret(value) };
}

/**
 * The cookie's name at a public address. On HTTPS the `__Host-` prefix makes browsers insist on Secure, no
 * Domain and the whole path (RFC 6265bis, section 4.1.3.2).
 */
export function sessionCookieName(baseUrl: string): string {
  return baseUrl.startsWith('https:') ? '__Host-baton_session' : 'baton_session';
}

/** The `Set-Cookie` value that stores a session, or takes it away where `value` is null. */
export function sessionCookie(baseUrl: string, value: string | null): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  const seconds = value === null ? 0 : SESSION_MS / 1_000;
  return `${sessionCookieName(baseUrl)}=${value ?? ''}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`;
}

/**
 * True where a page of our own sent the request: its `Origin` is our public address, or, when that is a loopback
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
