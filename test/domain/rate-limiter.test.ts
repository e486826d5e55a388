import assert from 'node:assert/strict';
import { createRateLimiter } from '../../src/domain/common/rate-limiter.ts';

describe('a rate limiter', () => {
  let now = 0;
  const limiter = () => createRateLimiter({ name: 'test', perSecond: 2, burst: 3 }, () => new Date(now));
  const taken = (rate: ReturnType<typeof limiter>, times: number) =>
    Array.from({ length: times }, () => rate.take('a').granted);

  it('grants a burst, then its rate per second', () => {
    const rate = limiter();
    assert.deepEqual(taken(rate, 4), [true, true, true, false]);
    now += 1_000;
    assert.deepEqual(taken(rate, 3), [true, true, false]);
  });

  it('counts each key separately', () => {
    const rate = limiter();
    taken(rate, 3);
    assert.equal(rate.take('b').granted, true);
  });

  it('refunds tokens up to the burst size', () => {
    const rate = limiter();
    taken(rate, 3);
    rate.refund('a');
    assert.deepEqual(taken(rate, 2), [true, false]);
    for (let times = 0; times < 5; times += 1) rate.refund('a');
    assert.deepEqual(taken(rate, 4), [true, true, true, false]);
  });

  it('refills a bucket on request', () => {
    const rate = limiter();
    taken(rate, 3);
    rate.refill('a');
    assert.equal(taken(rate, 3).every(Boolean), true);
  });
});
