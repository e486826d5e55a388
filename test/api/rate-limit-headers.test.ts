import assert from 'node:assert/strict';
import type { Context } from 'koa';
import { Problem } from '../../src/api/http/problem.ts';
import { spend, tooMany } from '../../src/api/http/rate-limit.ts';
import { createRateLimiter } from '../../src/domain/common/rate-limiter.ts';

describe('the headers about the rate limit', () => {
  let now = new Date(0);
  let limiter: ReturnType<typeof createRateLimiter>;
  beforeEach(() => {
    limiter = createRateLimiter({ name: 'credential', perSecond: 2, burst: 10 }, () => now);
  });
  /** Spends tokens. Returns the two headers. */
  function spent(who: string, count: number): [string | undefined, string | undefined] {
    const headers = new Map<string, string>();
    const set = (name: string, value: string) => headers.set(name, value);
    try {
      spend({ set } as unknown as Context, limiter, who, count);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      headers.set('RateLimit', `${headers.get('RateLimit')} ${error.code}`);
    }
    return [headers.get('RateLimit-Policy'), headers.get('RateLimit')];
  }

  it('contain what is left, and the seconds until all is there again', () => {
    now = new Date(0);
    assert.deepEqual(spent('one', 3), ['"credential";q=10;w=5', '"credential";r=7;t=2']);
    assert.equal(spent('one', 4)[1], '"credential";r=3;t=4');
    now = new Date(250);
    assert.equal(spent('one', 1)[1], '"credential";r=2;t=4', 'half a token is not left');
    assert.equal(spent('other', 1)[1], '"credential";r=9;t=1');
  });

  it('contain nothing left in a refusal', () => {
    spent('third', 10);
    assert.equal(spent('third', 1)[1], '"credential";r=0;t=5 rate_limited');
  });

  it('say in whole seconds when to try again, at least one', () => {
    const after = (remaining: number) => tooMany('requests', remaining, 2).headers?.['Retry-After'];
    assert.deepEqual([0, -1, -2, -3, -20].map(after), ['1', '1', '1', '2', '10']);
  });
});
