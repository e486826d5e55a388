import assert from 'node:assert/strict';
import { createRateLimiter } from '../../src/domain/common/rate-limiter.ts';

describe('a rate limiter', () => {
  let now = 0;
  beforeEach(() => (now = Date.UTC(2026, 0, 1)));

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

  it('reports the tokens that are left, or missing', () => {
    const rate = limiter();
    assert.deepEqual(rate.take('a'), { granted: true, remaining: 2 });
    assert.deepEqual(rate.take('a', 2), { granted: true, remaining: 0 });
    assert.deepEqual(rate.take('a', 2), { granted: false, remaining: -2 });
    now += 500;
    assert.deepEqual(rate.take('a', 2), { granted: false, remaining: -1 });
    now += 500;
    assert.deepEqual(rate.take('a', 2), { granted: true, remaining: 0 }, 'a refusal takes nothing');
  });

  it('grants a request for more than a full bucket if the bucket is full', () => {
    const rate = limiter();
    assert.deepEqual(rate.take('a', 100), { granted: true, remaining: 0 });
    now += 1_499;
    assert.equal(rate.take('a', 100).granted, false);
    now += 1;
    assert.equal(rate.take('a', 100).granted, true);
  });

  it('takes nothing back if the clock goes back', () => {
    const rate = limiter();
    taken(rate, 2);
    now -= 10_000;
    assert.deepEqual(rate.take('a'), { granted: true, remaining: 0 });
  });

  it('forgets only buckets that are full again, once it has ten thousand', () => {
    const rate = limiter();
    taken(rate, 3);
    now += 1_000;
    for (let key = 1; key < 10_000; key += 1) rate.take(`full ${key}`);
    now += 499;
    rate.take('new');
    assert.deepEqual(rate.take('a', 3), { granted: false, remaining: 3 - 0.002 - 3 });
    assert.equal(rate.take('full 1', 3).remaining < 1, true);
  });

  it('keeps buckets that a slow rate has not filled yet', () => {
    const slow = createRateLimiter({ name: 'slow', perSecond: 0.1, burst: 3 }, () => new Date(now));
    slow.take('a', 2);
    for (let key = 1; key < 10_000; key += 1) slow.take(`other ${key}`);
    now += 1_000;
    slow.take('new');
    assert.deepEqual(slow.take('a', 2).granted, false);
  });

  it('has its rate', () => {
    assert.deepEqual(limiter().rate, { name: 'test', perSecond: 2, burst: 3 });
  });

  it('ignores a refund for an unknown key', () => {
    const rate = limiter();
    rate.refund('a');
    assert.deepEqual(rate.take('a', 3), { granted: true, remaining: 0 });
  });

  it('seldom searches for full buckets if there are none', () => {
    let reads = 0;
    const slow = {
      name: 'test',
      burst: 2,
      get perSecond() {
        reads += 1;
        return 1 / 3_600;
      },
    };
    const rate = createRateLimiter(slow, () => new Date(now));
    const keys = 12_000;
    for (let key = 0; key < keys; key += 1) rate.take(String(key));
    assert.ok(reads < 3 * keys, `read the rate ${reads} times`);
  });
});
