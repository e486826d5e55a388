import { BatonProblem, BatonUnreachable } from './problem.ts';

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 8_000;
/** The client does not wait for a longer `Retry-After`. It throws, and the caller decides. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Returns true if the same request may succeed shortly after. */
export function isTransient(error: unknown): boolean {
  if (error instanceof BatonUnreachable) return true;
  return error instanceof BatonProblem && (wasNotProcessed(error) || [502, 503, 504].includes(error.status));
}

/**
 * Returns the delay before a request is retried, in milliseconds, or null if it is not retried. A request that may have had
 * an effect is retried only if `isRepeatable`. `failures` counts the failed attempts, at least one. `random` returns numbers
 * from 0 to 1.
 */
export function retryDelay(
  error: unknown,
  { failures, isRepeatable, random }: { failures: number; isRepeatable: boolean; random: () => number },
): number | null {
  if (!isTransient(error)) return null;
  const problem = error instanceof BatonProblem ? error : null;
  if (!isRepeatable && !(problem && wasNotProcessed(problem))) return null;
  const retryAfterMs = problem?.retryAfterMs ?? 0;
  if (retryAfterMs > MAX_RETRY_AFTER_MS) return null;
  return Math.max(retryAfterMs, backoff(failures, random));
}

/**
 * Returns an exponential delay in milliseconds. It is random within the upper half of the range, so that clients do not
 * retry at the same time.
 */
export function backoff(failures: number, random: () => number): number {
  const upperBound = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1));
  return upperBound / 2 + (random() * upperBound) / 2;
}

/**
 * Returns true if the service did not process the request: the rate limit was exceeded, or an earlier request with the same
 * idempotency key is still in progress.
 */
function wasNotProcessed({ status, code, retryAfterMs }: BatonProblem): boolean {
  return status === 429 || (status === 409 && code === 'conflict' && retryAfterMs !== null);
}
