import { pendingCallback } from '../database/tasks/callbacks.ts';
import type { Database } from '../database/database.ts';
import type { CallbackAttempt } from './callback-attempt.ts';

/** First attempts of callbacks by the process that writes the end of the run. */
export type ImmediateCallbacks = {
  /**
   * Makes the first attempt of a callback and waits a moment for it. True where nothing is left to do; else it is for
   * the activity of the callbacks' own queue to go on, by what the audit log says. Never rejects.
   */
  attemptNow(executionId: string): Promise<boolean>;
  /** Lets what is under way end for a moment, then breaks it off: the activity of the queue makes the next attempt. */
  close(): Promise<void>;
};

type Dependencies = {
  database: Database;
  attempt: CallbackAttempt;
  /** How long a receiver is waited for, unless the usual time. */
  briefMs?: number;
  /** How long attempts may go on in a process that is to end, unless the usual time. */
  graceMs?: number;
};

/** A receiver that takes longer is waited for apart: meanwhile the run holds a place of a workflow task. */
const BRIEF_MS = 500;
/** Attempts under way in one process; receivers that hang fill these, and not the places of workflow tasks. */
const MAX_CONCURRENT = 20;
/** How long attempts may go on in a process that is to end. */
const GRACE_MS = 5_000;

export function createImmediateCallbacks({
  database,
  attempt,
  briefMs = BRIEF_MS,
  graceMs = GRACE_MS,
}: Dependencies): ImmediateCallbacks {
  const underWay = new Set<Promise<boolean>>();
  // An attempt outlives the activity that has begun it.
  const stopping = new AbortController();

  async function first(executionId: string): Promise<boolean> {
    try {
      const pending = await pendingCallback(database, executionId);
      if (pending === null) return true;
      // Begun before, by a process that may still be at it.
      if (pending.last !== null) return false;
      await attempt(pending, stopping.signal);
      return true;
    } catch {
      // It is in the audit log as far as it has come.
      return false;
    }
  }

  return {
    async attemptNow(executionId) {
      if (underWay.size >= MAX_CONCURRENT) return false;
      const calling = first(executionId);
      underWay.add(calling);
      void calling.finally(() => underWay.delete(calling));
      return await within(briefMs, calling);
    },
    async close() {
      const grace = setTimeout(() => stopping.abort(), graceMs);
      await Promise.all(underWay);
      clearTimeout(grace);
    },
  };
}

async function within(ms: number, calling: Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const moment = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([calling, moment]);
  } finally {
    clearTimeout(timer);
  }
}
