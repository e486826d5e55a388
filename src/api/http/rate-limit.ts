import type { Context } from 'koa';
import type { RateLimiter } from '../../domain/common/rate-limiter.ts';
import { Problem } from './problem.ts';

/**
 * Takes `count` from the bucket of `who` and says what is left (draft-ietf-httpapi-ratelimit-headers).
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

/** 429 for who asked too often for `what`; `remaining` is negative by as much as is missing. */
export function tooMany(what: string, remaining: number, perSecond: number): Problem {
  const seconds = Math.max(1, Math.ceil(-remaining / perSecond));
  return new Problem('rate_limited', `Too many ${what}. Try again in ${seconds} s.`, {
    headers: { 'Retry-After': String(seconds) },
  });
}
