import { BatonProblem } from './problem.ts';
import { backoff, isTransient } from './retry.ts';

const RETRY_WINDOW_MS = 60_000;

/** Decides how long and how often an unreachable service is retried. */
export type RetryWindow = {
  /** Records a response of the service. The next failure starts a new window. */
  reset(): void;
  /**
   * Records a failure and returns the delay before the next attempt, in milliseconds.
   * @throws the error if it is neither transient nor an error of the server, or if the window is over
   */
  delayAfter(error: unknown): number;
};

/** Creates a retry window of `windowMs` milliseconds. The window starts with the first failure after a response. */
export function createRetryWindow(random: () => number, windowMs: number = RETRY_WINDOW_MS): RetryWindow {
  let failures = 0;
  let firstFailureAt = 0;
  return {
    reset() {
      failures = 0;
    },
    delayAfter(error) {
      if (failures === 0) firstFailureAt = Date.now();
      failures += 1;
      if (!mayPass(error) || Date.now() - firstFailureAt >= windowMs) throw error;
      return backoff(failures, random);
    },
  };
}

/**
 * Returns true if the same request may succeed later. Requests that only read, and events with ids, can be repeated even
 * after a status 500.
 */
export function mayPass(error: unknown): boolean {
  return isTransient(error) || (error instanceof BatonProblem && error.status >= 500);
}
