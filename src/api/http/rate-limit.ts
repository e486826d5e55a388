import type { Context } from 'koa';
import type { RateLimiter } from '../../domain/common/rate-limiter.ts';
import { Problem } from './problem.ts';

/**
 * Takes `count` tokens from the bucket of `who` and sets the headers with the remaining quota
 * (draft-ietf-httpapi-ratelimit-headers).
 * @throws Problem `rate_limited`
 */
export function spend(context: Context, limiter: RateLimiter, who: string, count = 1): void {
  const { name, perSecond, burst } = limiter.rate;
  const { granted, remaining } = limiter.take(who, count);
  const left = Math.max(0, Math.floor(remaining));
  context.set('RateLimit-Policy', `"${name}";q=${burst};w=${Math.ceil(burst / perSecond)}`);
  context.set('RateLimit', `"${name}";r=${left};t=${Math.ceil((burst - left) / perSecond)}`);
  if (!granted) throw tooMany('requests', remaining, perSecond);
}

/** Returns a 429 for too many requests of a kind (`what`). `remaining` is negative by the missing amount. */
export function tooMany(what: string, remaining: number, perSecond: number): Problem {
  const seconds = Math.max(1, Math.ceil(-remaining / perSecond));
  return new Problem('rate_limited', `Too many ${what}. Try again in ${seconds} s.`, {
    headers: { 'Retry-After': String(seconds) },
  });
}
