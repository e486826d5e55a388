import assert from 'node:assert/strict';
import {
  CALLBACK_ATTEMPTS,
  callbackWaitMs,
  DELIVERY_ATTEMPTS,
  deliveryAttemptsLeft,
  deliveryWaitMs,
  placeWaitMs,
} from '../../src/domain/common/retry-schedules.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

describe('the retry schedules', () => {
  it('for attempts without a place grow to a limit, with jitter of up to 50 percent', () => {
    const waits = (random: number) =>
      [1, 2, 3, 5, 6, 9, 5_000].map((tries) => placeWaitMs(tries, 30_000, random));
    assert.deepEqual(waits(0), [1_000, 2_000, 4_000, 16_000, 30_000, 30_000, 30_000]);
    assert.deepEqual(waits(0.5), [750, 1_500, 3_000, 12_000, 22_500, 22_500, 22_500]);
  });

  it('have the documented waits', () => {
    const waits = (attempts: number, waitMs: (failures: number) => number | null) =>
      Array.from({ length: attempts }, (_, index) => waitMs(index + 1));
    assert.deepEqual(waits(CALLBACK_ATTEMPTS, callbackWaitMs), [1 * SECOND, 4 * SECOND, null]);
    const deliveries = [1 * MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 12 * HOUR, null];
    assert.deepEqual(waits(DELIVERY_ATTEMPTS, deliveryWaitMs), deliveries);
  });
});

describe('the attempts of a delivery that are left', () => {
  it('follow from the time between the last attempt and the next one', () => {
    const waits = [60_000, 300_000, 1_800_000, 7_200_000, 43_200_000];
    for (const [index, waitMs] of waits.entries()) {
      const left = waits.length - index;
      for (const took of [0, 1, 59_999]) assert.equal(deliveryAttemptsLeft(waitMs + took), left);
      assert.equal(deliveryAttemptsLeft(waitMs + 60_000), null, 'longer than any attempt takes');
    }
    for (const ms of [-1, 0, 59_999]) assert.equal(deliveryAttemptsLeft(ms), null);
  });
});
