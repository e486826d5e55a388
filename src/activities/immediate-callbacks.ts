import { findPendingCallback } from '../database/tasks/callbacks.ts';
import type { Database } from '../database/database.ts';
import type { CallbackAttempt } from './callback-attempt.ts';
import { within } from '../domain/common/within.ts';

/** First attempts of callbacks, made by the process that writes the end of the run. */
export type ImmediateCallbacks = {
  /**
   * Makes the first attempt of a callback and waits briefly for it. Returns true if nothing is left to do. Otherwise
   * the activity on the callbacks' queue continues, by the state in the audit log. Never rejects.
   */
  attemptNow(executionId: string): Promise<boolean>;
  /**
   * Waits briefly for attempts in progress, then aborts them. The activity on the callbacks' queue makes the next
   * attempt.
   */
  close(): Promise<void>;
};

type Dependencies = {
  database: Database;
  attempt: CallbackAttempt;
  /** Time to wait for a receiver, in milliseconds. Default: {@link BRIEF_MS}. */
  briefMs?: number;
  /** Time for attempts in flight at shutdown, in milliseconds. Default: {@link GRACE_MS}. */
  graceMs?: number;
};

/** Time to wait for a receiver, in milliseconds. The run occupies a workflow task during this time. */
const BRIEF_MS = 500;
/** Attempts in flight per process. Receivers that hang occupy these instead of workflow tasks. */
const MAX_CONCURRENT = 20;
/** Time for attempts in flight at shutdown, in milliseconds. */
const GRACE_MS = 5_000;

export function createImmediateCallbacks({
  database,
  attempt,
  briefMs = BRIEF_MS,
  graceMs = GRACE_MS,
}: Dependencies): ImmediateCallbacks {
  const underWay = new Set<Promise<boolean>>();
  // An attempt may outlive the activity that started it.
  const stopping = new AbortController();

  async function first(executionId: string): Promise<boolean> {
    try {
      const pending = await findPendingCallback(database, executionId);
      if (pending === null) return true;
      // Another process has started an attempt, which may still be in flight.
      if (pending.last !== null) return false;
      await attempt(pending, stopping.signal);
      return true;
    } catch {
      // The audit log contains the state of the attempt.
      return false;
    }
  }

  return {
    async attemptNow(executionId) {
      if (underWay.size >= MAX_CONCURRENT) return false;
      const calling = first(executionId);
      underWay.add(calling);
      void calling.finally(() => underWay.delete(calling));
      return (await within(briefMs, calling)) === true;
    },
    async close() {
      const grace = setTimeout(() => stopping.abort(), graceMs);
      await Promise.all(underWay);
      clearTimeout(grace);
    },
  };
}
