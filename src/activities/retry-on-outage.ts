import { setTimeout as pause } from 'node:timers/promises';
import { isDatabaseOutage } from '../database/common/outage.ts';

/** Retry interval and time limit of {@link retryOnOutage}, in milliseconds. */
const RETRY_MS = 200;
const GIVE_UP_MS = 60_000;

/**
 * Repeats a write during a database outage, since a lost result would be sent again. Gives up after a minute, so that a
 * process can end, or as soon as `signal` aborts. `isAgain` says whether `write` was tried before: a broken connection
 * may have failed before or after the commit.
 */
export async function retryOnOutage<Result>(
  write: (isAgain: boolean) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const until = performance.now() + GIVE_UP_MS;
  for (let isAgain = false; ; isAgain = true) {
    try {
      return await write(isAgain);
    } catch (error) {
      if (!isDatabaseOutage(error) || signal?.aborted || performance.now() > until) throw error;
      await pause(RETRY_MS);
    }
  }
}
