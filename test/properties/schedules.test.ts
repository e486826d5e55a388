import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { callbackWaitMs, deliveryWaitMs } from '../../src/domain/common/retry-schedules.ts';
import { createRateLimiter } from '../../src/domain/common/rate-limiter.ts';
import { holds } from './property.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

describe('the retry schedules', () => {
  it('have increasing waits from the first failure to the last attempt, and no others', () => {
    const schedules = [
      { waitMs: callbackWaitMs, attempts: 3, wholeMs: 5 * SECOND },
      { waitMs: deliveryWaitMs, attempts: 6, wholeMs: 14 * HOUR + 36 * MINUTE },
    ];
    for (const { waitMs, attempts, wholeMs } of schedules) {
      holds([fc.integer({ min: -1_000, max: 1_000 })], (failures) => {
        const wait = waitMs(failures);
        if (failures < 1 || failures >= attempts) assert.equal(wait, null);
        else assert.ok(wait !== null && wait > 0 && wait > (waitMs(failures - 1) ?? 0));
      });
      let whole = 0;
      let made = 1;
      for (let wait = waitMs(made); wait !== null; wait = waitMs(made)) {
        whole += wait;
        made += 1;
      }
      assert.deepEqual([made, whole], [attempts, wholeMs]);
    }
  });
});

describe('a rate limiter, for random requests', () => {
  const rate = fc.record({
    perSecond: fc.integer({ min: 1, max: 1_000 }),
    burst: fc.integer({ min: 1, max: 2_000 }),
  });
  const asks = fc.array(
    fc.record({
      key: fc.constantFrom('a', 'b'),
      waitMs: fc.nat(3_000),
      wanted: fc.integer({ min: 1, max: 50 }),
    }),
    { minLength: 1, maxLength: 80 },
  );

  it('never grants more than the burst plus the rate in any period', () => {
    holds(
      [rate, asks],
      ({ perSecond, burst }, given) => {
        const granted: { key: string; at: number; count: number }[] = [];
        let now = 0;
        const limiter = createRateLimiter({ name: 'x', perSecond, burst }, () => new Date(now));
        for (const { key, waitMs, wanted } of given) {
          now += waitMs;
          const count = Math.min(wanted, burst);
          if (limiter.take(key, wanted).granted) granted.push({ key, at: now, count });
        }
        for (const key of ['a', 'b']) {
          const mine = granted.filter((one) => one.key === key);
          for (const [index, first] of mine.entries()) {
            let sum = 0;
            for (const { at, count } of mine.slice(index)) {
              sum += count;
              const most = burst + (perSecond * (at - first.at)) / SECOND;
              assert.ok(sum <= most + 1e-6, `${sum} of ${most} within ${at - first.at} ms`);
            }
          }
        }
      },
      300,
    );
  });

  it('grants a request after the time in which the missing tokens are refilled', () => {
    holds([rate, fc.integer({ min: 1, max: 50 })], ({ perSecond, burst }, wanted) => {
      let now = 0;
      const limiter = createRateLimiter({ name: 'x', perSecond, burst }, () => new Date(now));
      while (limiter.take('a', wanted).granted);
      const { remaining } = limiter.take('a', wanted);
      assert.ok(remaining < 0);
      now += Math.ceil((-remaining / perSecond) * SECOND) + 1;
      assert.ok(limiter.take('a', wanted).granted);
    });
  });
});
