/** The waiting requests. Times are milliseconds of one clock. */
export type Waiting = { requests: number; isFull: boolean; oldestAt: number };

/** Maximum number of groups in flight. */
const MAX_IN_FLIGHT = 2;
/** Maximum time that the next group waits for more requests, in milliseconds. */
const WINDOW_MS = 5;
/** After this idle time in milliseconds, no further requests are expected. */
const QUIET_MS = 50;
/** From this many requests, the next group waits for most of them. */
const BURST_REQUESTS = 8;
const BURST_SHARE = 0.9;

/**
 * Decides when the next group of requests is stored. A group costs about the same whatever its size, so clients that
 * send again right after a response should share a group. After a burst, the next group waits a short time for most of
 * its senders. An idle process dispatches at once, and a full group is always dispatched at once.
 */
export function createBatchingWindow() {
  let inFlight = 0;
  let expected = 1;
  let dispatchedAt = Number.NEGATIVE_INFINITY;
  let finishedAt = Number.NEGATIVE_INFINITY;

  return {
    /**
     * Returns 0 for now, a time to dispatch at if nothing changes before, or null to wait until a group is finished.
     */
    nextDispatchAt({ requests, isFull, oldestAt }: Waiting, now: number): number | null {
      if (requests === 0 || inFlight >= MAX_IN_FLIGHT) return null;
      if (inFlight === 0 && now - finishedAt >= QUIET_MS) expected = 1;
      const isEnough = requests >= Math.ceil(expected * BURST_SHARE);
      if (isFull || (isEnough && inFlight === 0)) return 0;
      if (inFlight > 0 && !isEnough) return null;
      const at = WINDOW_MS + (inFlight === 0 ? Math.max(oldestAt, finishedAt) : dispatchedAt);
      return at <= now ? 0 : at;
    },

    /** Records that a group of `requests` requests was dispatched. */
    dispatched(requests: number, now: number): void {
      inFlight += 1;
      dispatchedAt = now;
      expected = Math.max(requests, Math.floor(expected / 2));
    },

    /**
     * Records that a group of `requests` requests is finished; `waiting` requests have arrived since its dispatch.
     */
    finished(requests: number, waiting: number, now: number): void {
      inFlight -= 1;
      finishedAt = now;
      if (requests + waiting >= BURST_REQUESTS) expected = Math.max(expected, requests + waiting);
    },
  };
}
