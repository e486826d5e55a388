/** Placeholder in the built page for the nonce of each response; written by the build. */
const NONCE_PLACE = 'NONCE-OF-THIS-ANSWER';

/** Returns the page with each placeholder replaced by the nonce. */
export function withNonce(page: string, nonce: string): string {
  return page.replaceAll(NONCE_PLACE, nonce);
}

/**
 * Returns the policy of a page with screens: no external resources, only scripts and styles with the nonce or from
 * files of this origin, and connections only to this address. `socket` is the origin of the live channel, which not
 * every browser includes in 'self'.
 */
export function policyFor(nonce: string, socket: string): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self'",
    "font-src 'self'",
    `connect-src 'self' ${socket}`,
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/**
 * Returns the origin of the live channel for this browser; the public origin if the Host header is not a plain host.
 */
export function socketOrigin(baseUrl: string, host: string): string {
  const base = new URL(baseUrl);
  const scheme = base.protocol === 'https:' ? 'wss' : 'ws';
  return `${scheme}://${/^[A-Za-z0-9.-]+(:\d{1,5})?$|^\[[0-9a-fA-F:]+\](:\d{1,5})?$/.test(host) ? host : base.host}`;
}
