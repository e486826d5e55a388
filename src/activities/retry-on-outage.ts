import { setTimeout as pause } from 'node:timers/promises';
import { isDatabaseOutage, isDeadlock } from '../database/common/outage.ts';

/** How often a database that is away is looked for, and for how long what is to be written is kept for it. */
const RETRY_MS = 200;
const GIVE_UP_MS = 60_000;
const MAX_DEADLOCKS = 5;

/**
 * Writes what became of something that was sent, in spite of a database that is away: it would else be sent again. Gives
 * up after a minute, so that a process can end, or once `signal` says that it is to end. `write` is told whether it was
 * tried before: a connection that broke may have done so before the commit or after it.
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

/** Two transactions that waited for each other: one was thrown out whole, and is done again. */
export async function retryOnDeadlock<Result>(write: () => Promise<Result>): Promise<Result> {
  for (let turn = 1; ; turn += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isDeadlock(error) || turn === MAX_DEADLOCKS) throw error;
    }
  }
}
