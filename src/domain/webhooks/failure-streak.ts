/** What a row of results, in the order of their ends, does to the count of failures of one webhook. */
export type Streak = {
  /** The count afterwards. */
  count: number;
  /** Whether it came to `limit` on the way; a success that came later does not undo that. */
  reachedLimit: boolean;
};

/** Counts failures in a row (docs/receiving.md): a success sets the count to zero. */
export function countFailures(before: number, succeeded: readonly boolean[], limit: number): Streak {
  let count = before;
  let reachedLimit = false;
  for (const success of succeeded) {
    count = success ? 0 : count + 1;
    reachedLimit ||= count >= limit;
    if (reachedLimit) break;
  }
  return { count, reachedLimit };
}
