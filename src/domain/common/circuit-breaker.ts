/** Makes calls, except while it rests. See {@link createCircuitBreaker}. */
export type CircuitBreaker = {
  /**
   * Makes a call and returns its result, or null without a call while the breaker rests.
   * @throws what `work` throws
   */
  call<T>(work: () => Promise<T>): Promise<T | null>;
};

/**
 * Creates a circuit breaker for calls that a busy service answers late: asking again would keep it busy. After a late call,
 * no call is made for `restMs` milliseconds. Then one call at a time is tried, until one is not late.
 *
 * @param isLate whether a call failed because the service did not answer in time
 * @param clock milliseconds of a monotonic clock
 */
export function createCircuitBreaker(
  restMs: number,
  isLate: (error: unknown) => boolean,
  clock: () => number = () => performance.now(),
): CircuitBreaker {
  /** When the next call may be tried; null if calls are not late. */
  let restsUntil: number | null = null;
  return {
    async call(work) {
      const isTrial = restsUntil !== null;
      if (restsUntil !== null) {
        if (clock() < restsUntil) return null;
        restsUntil = Infinity;
      }
      let wasLate = false;
      try {
        return await work();
      } catch (error) {
        wasLate = isLate(error);
        throw error;
      } finally {
        // A call that began before the first late one says nothing about the service since then.
        if (wasLate) restsUntil = clock() + restMs;
        else if (isTrial) restsUntil = null;
      }
    },
  };
}
