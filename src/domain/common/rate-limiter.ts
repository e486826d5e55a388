/** Token buckets with an injected clock. */

/** Rate of a token bucket: tokens per second on average, and size of a burst. */
export type Rate = { name: string; perSecond: number; burst: number };

type Bucket = { tokens: number; at: number };
/** Least number of buckets that are swept. */
const LEAST_SWEPT = 10_000;

/**
 * Creates a rate limiter with one bucket per key. Buckets live in this process: each process grants the rate
 * separately.
 */
export function createRateLimiter(rate: Rate, clock: () => Date) {
  const buckets = new Map<string, Bucket>();
  let sweepAt = LEAST_SWEPT;

  /**
   * Removes full buckets: they are the same as new ones. The next sweep is at twice the rest, so that a new key costs the
   * same however many buckets are not full.
   */
  function sweep(now: number): void {
    for (const [key, bucket] of buckets) {
      if (bucket.tokens + ((now - bucket.at) / 1_000) * rate.perSecond >= rate.burst) buckets.delete(key);
    }
    sweepAt = Math.max(LEAST_SWEPT, 2 * buckets.size);
  }

  return {
    rate,
    /**
     * Takes `wanted` tokens, at most as many as a full bucket has. `remaining` is the number of tokens left. If the
     * request was not granted, it is negative by the number of missing tokens.
     */
    take(key: string, wanted = 1): { granted: boolean; remaining: number } {
      const count = Math.min(wanted, rate.burst);
      const now = clock().getTime();
      if (buckets.size >= sweepAt && !buckets.has(key)) sweep(now);
      const bucket = buckets.get(key) ?? { tokens: rate.burst, at: now };
      const tokens = Math.min(
        rate.burst,
        bucket.tokens + (Math.max(0, now - bucket.at) / 1_000) * rate.perSecond,
      );
      const granted = tokens >= count;
      buckets.set(key, { tokens: granted ? tokens - count : tokens, at: now });
      return { granted, remaining: tokens - count };
    },
    /** Returns one token. Tokens above a full bucket are dropped with the next `take`. */
    refund(key: string): void {
      const bucket = buckets.get(key);
      if (bucket) bucket.tokens += 1;
    },
    /** Makes the bucket full again. */
    refill(key: string): void {
      buckets.delete(key);
    },
  };
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;
