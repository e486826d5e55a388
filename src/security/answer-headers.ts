/** How long browsers come back by HTTPS alone, in seconds: a year. Other names below ours are not ours to decide on. */
const HTTPS_ONLY_SECONDS = 31_536_000;

/** What no page of ours ever uses, so that nothing in one can. */
const UNUSED = ['camera', 'microphone', 'geolocation', 'payment', 'usb', 'serial', 'display-capture'];

/**
 * The headers that every answer begins with, whoever makes it. An answer may loosen them where it says so: pages have a
 * policy of their own, files whose names change with their content may be kept. `baseUrl` is the public address, null for
 * one on this machine.
 */
export function answerHeaders(baseUrl: string | null): Readonly<Record<string, string>> {
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
