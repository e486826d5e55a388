/** Effect of a sequence of results, in the order they ended, on the failure count of a webhook. */
export type Streak = {
  /** The new count. */
  count: number;
  /** Whether the count reached `limit`. A later success does not undo that. */
  reachedLimit: boolean;
};

/** Counts consecutive failures (docs/receiving.md). A success sets the count to zero. */
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

/**
 * Returns the results that count for a webhook that was enabled `enabledCount` times. A failure of an attempt that began
 * before the webhook was enabled does not count: it says nothing about the webhook as it is now. A success always counts:
 * it shows that the receiver responds, and can only keep the webhook enabled.
 */
export function selectCounting<Result extends { succeeded: boolean; enabled_count: number }>(
  results: readonly Result[],
  enabledCount: number,
): Result[] {
  return results.filter(({ succeeded, enabled_count: known }) => succeeded || known === enabledCount);
}
