/** What a pace is asked with; times in milliseconds of one clock. `requests` and `isFull` are of what waits. */
export type Waiting = { requests: number; isFull: boolean; oldestAt: number };

/** Groups that are being stored and started at once. */
const MOST_UNDER_WAY = 2;
/** So long the next group waits for company, once it has reason to. */
const COMPANY_MS = 25;
/** After so long without anything under way nobody is expected any more. */
const QUIET_MS = 50;
/** So many requests at a time are a crowd, of which the next group wants most. */
const CROWD = 8;
const MOST_OF_IT = 0.9;

/**
 * When the next group of requests may leave. A group costs the engine about the same whatever its size, so senders
 * that send again as soon as they are answered should go together: where there was a crowd, most of it is waited for,
 * though not for long. At rest a request leaves at once, and a full group always.
 */
export function createPace() {
  let underWay = 0;
  let expected = 1;
  let leftAt = Number.NEGATIVE_INFINITY;
  let doneAt = Number.NEGATIVE_INFINITY;

  return {
    /** 0: now. Another number: at that time, if nothing changes before. Null: when a group is done. */
    leavesAt({ requests, isFull, oldestAt }: Waiting, now: number): number | null {
      if (requests === 0 || underWay >= MOST_UNDER_WAY) return null;
      if (underWay === 0 && now - doneAt >= QUIET_MS) expected = 1;
      const isCompany = requests >= Math.ceil(expected * MOST_OF_IT);
      if (isFull || (isCompany && underWay === 0)) return 0;
      if (underWay > 0 && !isCompany) return null;
      const at = COMPANY_MS + (underWay === 0 ? Math.max(oldestAt, doneAt) : leftAt);
      return at <= now ? 0 : at;
    },

    /** A group of so many requests has left. */
    left(requests: number, now: number): void {
      underWay += 1;
      leftAt = now;
      expected = Math.max(requests, Math.floor(expected / 2));
    },

    /** A group is done; `requests` of it were answered, and `waiting` have come meanwhile. */
    done(requests: number, waiting: number, now: number): void {
      underWay -= 1;
      doneAt = now;
      if (requests + waiting >= CROWD) expected = Math.max(expected, requests + waiting);
    },
  };
}
