import { ratio, type Ratio, type Series } from './results.ts';

/** Returns a slope that is robust against outliers: the median of the slopes of all pairs of points (Theil–Sen). */
export function robustSlope(points: readonly (readonly [x: number, y: number])[]): number {
  const slopes: number[] = [];
  for (const [index, [x, y]] of points.entries()) {
    for (const [laterX, laterY] of points.slice(index + 1)) {
      if (laterX !== x) slopes.push((laterY - y) / (laterX - x));
    }
  }
  return median(slopes);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}

/** The share of a soak that counts as warm-up, in which heaps reach their size. */
export const WARM_UP_SHARE = 1 / 3;
/** The allowed growth in an hour, as a share of the memory. A few megabytes are noise. */
const FLAT_SHARE = 0.05;
const FLAT_MB = 8;

/** Returns the median memory of a process after its warm-up, its growth in an hour, and the limit of that growth. */
export function memoryTrend({ points }: Series): { median: number; megabytesAnHour: number; limit: number } {
  const last = points.at(-1)?.[0] ?? 0;
  const warm = points.filter(([minute]) => minute >= last * WARM_UP_SHARE);
  const middle = median(warm.map(([, value]) => value));
  return {
    median: middle,
    megabytesAnHour: robustSlope(warm) * 60,
    limit: Math.max(FLAT_MB, middle * FLAT_SHARE),
  };
}

/** Returns the growth of a series in an hour, with its goal. */
export function rateGrowth(series: Series): Ratio {
  const { megabytesAnHour, limit } = memoryTrend(series);
  return ratio(`${series.title}: growth in an hour`, megabytesAnHour, {
    unit: 'MB',
    digits: 1,
    wanted: { at_most: Math.round(limit * 10) / 10 },
  });
}
