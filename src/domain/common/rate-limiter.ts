/** Token buckets, counted by the time that is given. */

/** A token bucket's measure: so many a second on average, so many at once. */
export type Rate = { name: string; perSecond: number; burst: number };

type Bucket = { tokens: number; at: number };
const SWEEP_AT = 10_000;

/** Buckets of one rate, by whom they belong to. They live in this process: each process grants the rate anew. */
export function createRateLimiter(rate: Rate, clock: () => Date) {
  const buckets = new Map<string, Bucket>();

  /** A bucket that has become full again says nothing any more. */
  function sweep(now: number): void {
    for (const [who, bucket] of buckets) {
      if (bucket.tokens + ((now - bucket.at) / 1_000) * rate.perSecond >= rate.burst) buckets.delete(who);
    }
  }

  return {
    rate,
    /**
     * Takes so many, but never more than a full bucket has; `remaining` is what is left, negative where it was
     * refused, by as much as is missing.
     */
    take(who: string, wanted = 1): { granted: boolean; remaining: number } {
      const count = Math.min(wanted, rate.burst);
      const now = clock().getTime();
      if (buckets.size >= SWEEP_AT && !buckets.has(who)) sweep(now);
      const bucket = buckets.get(who) ?? { tokens: rate.burst, at: now };
      const tokens = Math.min(
        rate.burst,
        bucket.tokens + (Math.max(0, now - bucket.at) / 1_000) * rate.perSecond,
      );
      const granted = tokens >= count;
      buckets.set(who, { tokens: granted ? tokens - count : tokens, at: now });
      return { granted, remaining: tokens - count };
    },
    /** Puts one back that was taken. What is above a full bucket is lost with the next that is taken. */
    giveBack(who: string): void {
      const bucket = buckets.get(who);
      if (bucket) bucket.tokens += 1;
    },
    /** Makes the bucket full again. */
    refill(who: string): void {
      buckets.delete(who);
    },
  };
}

export type RateLimiter = ReturnType<typeof createRateLimiter>;
