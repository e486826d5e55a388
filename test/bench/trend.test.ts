import assert from 'node:assert/strict';
import { rateGrowth, median, memoryTrend, robustSlope } from '../../bench/support/trend.ts';
import type { Series } from '../../bench/support/results.ts';

/** Returns a sample every six seconds for half an hour. */
function soak(megabytes: (minute: number, index: number) => number): Series {
  const points = Array.from({ length: 300 }, (_, index): [number, number] => {
    return [index / 10, megabytes(index / 10, index)];
  });
  return { title: 'API', points };
}
/** Returns the sawtooth that garbage collection causes. */
const sawtooth = (index: number) => (index % 17) * 2;

describe('the median', () => {
  it('is the middle value, or the mean of the two middle values', () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 2, 3]), 2.5);
    assert.ok(Number.isNaN(median([])));
  });
});

describe('the slope of a line through samples', () => {
  it('is that of a straight line', () => {
    assert.equal(robustSlope([0, 1, 2, 3].map((x) => [x, 5 + 3 * x] as const)), 3);
  });

  it('is not changed by outliers', () => {
    const points = Array.from({ length: 100 }, (_, x) => [x, x % 10 === 9 ? 10_000 : 2 * x] as const);
    assert.ok(Math.abs(robustSlope(points) - 2) < 0.2);
  });
});

describe('the memory of a process', () => {
  it('counts as flat if it only goes up and down', () => {
    const { met, value } = rateGrowth(soak((_, index) => 200 + sawtooth(index)));
    assert.equal(met, true);
    assert.ok(Math.abs(value ?? Number.NaN) < 1);
  });

  it('may grow during the warm-up', () => {
    assert.equal(rateGrowth(soak((minute) => 100 + 100 * Math.min(1, minute / 9))).met, true);
  });

  it('does not count as flat if it grows by 5 % or more in an hour', () => {
    const { met, value } = rateGrowth(soak((minute, index) => 200 + minute / 2 + sawtooth(index)));
    assert.equal(met, false);
    assert.ok(Math.abs((value ?? 0) - 30) < 1, `${value}`);
  });

  it('is judged in relation to its size', () => {
    const growing = (size: number) => soak((minute) => size + minute / 4);
    assert.equal(rateGrowth(growing(150)).met, false);
    assert.equal(rateGrowth(growing(600)).met, true);
    assert.equal(Math.round(memoryTrend(growing(150)).megabytesAnHour), 15);
  });

  it('does not count as flat without samples', () => {
    assert.equal(rateGrowth({ title: 'gone', points: [] }).met, false);
  });
});
