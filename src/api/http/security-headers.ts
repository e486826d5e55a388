import type { Context, Next } from 'koa';

/** Headers of every answer; an answer may loosen them (the readable page sets a policy of its own). */
export async function securityHeaders(context: Context, next: Next): Promise<void> {
  context.set({
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Cache-Control': 'no-store',
  });
  await next();
}
