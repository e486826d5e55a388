/** What the built page says where each answer's own nonce belongs; written by the build. */
const NONCE_PLACE = 'NONCE-OF-THIS-ANSWER';

/** The page with a nonce in every place that waits for one. */
export function withNonce(page: string, nonce: string): string {
  return page.replaceAll(NONCE_PLACE, nonce);
}

/**
 * The policy of a page with screens: nothing from elsewhere, no script and no style that does not carry this answer's
 * nonce or lie in a file of ours, and no connection but to this address. `socket` is the origin of the live channel,
 * which not every browser counts as 'self'.
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

/** The live channel's origin as the browser will write it; the public one where the Host header is no plain host. */
export function socketOrigin(baseUrl: string, host: string): string {
  const base = new URL(baseUrl);
  const scheme = base.protocol === 'https:' ? 'wss' : 'ws';
  return `${scheme}://${/^[A-Za-z0-9.-]+(:\d{1,5})?$|^\[[0-9a-fA-F:]+\](:\d{1,5})?$/.test(host) ? host : base.host}`;
}
