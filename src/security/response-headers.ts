/**
 * How long browsers use only HTTPS, in seconds: one year. Subdomains are excluded, because they may belong to others.
 */
const HTTPS_ONLY_SECONDS = 31_536_000;

/** Browser features that no page uses. */
const UNUSED = ['camera', 'microphone', 'geolocation', 'payment', 'usb', 'serial', 'display-capture'];

/**
 * Returns the default headers of all responses. A response can override them: pages have their own policy, files with
 * hashed names are cacheable. `baseUrl` is the public URL, null on this machine.
 */
export function responseHeaders(baseUrl: string | null): Readonly<Record<string, string>> {
  const isHttps = baseUrl?.startsWith('https:') ?? false;
  return {
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Permissions-Policy': UNUSED.map((feature) => `${feature}=()`).join(', '),
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Cache-Control': 'no-store',
    ...(isHttps ? { 'Strict-Transport-Security': `max-age=${HTTPS_ONLY_SECONDS}` } : {}),
  };
}
