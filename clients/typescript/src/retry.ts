import { BatonProblem, BatonUnreachable } from './problem.ts';

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8_000;
/** Who says to come back later than this is told of to the caller instead. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/** True where the same request may well succeed in a moment. */
export function isPassing(error: unknown): boolean {
  if (error instanceof BatonUnreachable) return true;
  return error instanceof BatonProblem && (wasNotBegun(error) || [502, 503, 504].includes(error.status));
}

/**
 * Milliseconds until a request is sent again, or null where it is not. `failures` have happened so far, at least one.
 * What may have had an effect is only sent again if `isRepeatable`. `random` gives numbers from 0 to 1.
 */
export function waitBeforeRetry(
  error: unknown,
  { failures, isRepeatable, random }: { failures: number; isRepeatable: boolean; random: () => number },
): number | null {
  if (!isPassing(error)) return null;
  const problem = error instanceof BatonProblem ? error : null;
  if (!isRepeatable && !(problem && wasNotBegun(problem))) return null;
  const wanted = problem?.retryAfterMs ?? 0;
  if (wanted > LONGEST_RETRY_AFTER_MS) return null;
  return Math.max(wanted, backoff(failures, random));
}

/** Twice as long each time, and somewhere in the upper half of it, so that not all come back at once. */
export function backoff(failures: number, random: () => number): number {
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
  return longest / 2 + (random() * longest) / 2;
}

/** Too many requests, or the first with this idempotency key is still at work: nothing was done for this one. */
function wasNotBegun({ status, code, retryAfterMs }: BatonProblem): boolean {
  return status === 429 || (status === 409 && code === 'conflict' && retryAfterMs !== null);
}
