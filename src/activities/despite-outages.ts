import { setTimeout as pause } from 'node:timers/promises';
import { isDatabaseOutage, isDeadlock } from '../database/common/outage.ts';

/** How often a database that is away is looked for, and for how long what is to be written is kept for it. */
const LOOK_MS = 200;
const KEPT_MS = 60_000;
const DEADLOCKS = 5;

/**
 * Writes what became of something that was sent, in spite of a database that is away: it would else be sent again. Gives
 * up after a minute, so that a process can end, or once `signal` says that it is to end. `write` is told whether it was
 * tried before: a connection that broke may have done so before the commit or after it.
 */
export async function despiteOutages<Result>(
  write: (isAgain: boolean) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const until = performance.now() + KEPT_MS;
  for (let isAgain = false; ; isAgain = true) {
    try {
      return await write(isAgain);
    } catch (error) {
      if (!isDatabaseOutage(error) || signal?.aborted || performance.now() > until) throw error;
      await pause(LOOK_MS);
    }
  }
}

/** Two transactions that waited for each other: one was thrown out whole, and is done again. */
export async function despiteDeadlocks<Result>(write: () => Promise<Result>): Promise<Result> {
  for (let turn = 1; ; turn += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isDeadlock(error) || turn === DEADLOCKS) throw error;
    }
  }
}
