import { setTimeout as pause } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { pendingCallback, type PendingCallback } from '../database/tasks/callbacks.ts';
import type { Database } from '../database/database.ts';
import { callbackFailed, RECHECK_MS, ATTEMPT_EXPIRY_MS, type CallbackAttempt } from './callback-attempt.ts';
import { startHeartbeat } from './heartbeat.ts';

export type CallbackActivities = ReturnType<typeof createCallbackActivities>;

type Dependencies = { database: Database; attempt: CallbackAttempt };

/** Waits up to here are waited for in place. */
const BRIEF_MS = 100;

/** Callbacks in their own task queue: what was not delivered at once, see {@link CallbacksAtOnce}. */
export function createCallbackActivities({ database, attempt }: Dependencies) {
  return {
    /**
     * Makes the next attempt of an ended run's callback, unless one is under way elsewhere or the next is not due yet.
     * @throws ApplicationFailure of type `CallbackFailed`, see {@link CallbackAttempt}; also with the time to wait until
     *   an attempt can be made
     */
    async sendCallback({ executionId }: { executionId: string }): Promise<{ status: number }> {
      const stopHeartbeat = startHeartbeat();
      try {
        const pending = await pendingCallback(database, executionId);
        if (pending === null) return { status: 0 };
        await waitUntilDue(pending);
        return await attempt(pending, Context.current().cancellationSignal);
      } finally {
        stopHeartbeat();
      }
    },
  };
}

/** Whoever has to wait for longer leaves its place to others, and comes again. */
async function waitUntilDue({ last }: PendingCallback): Promise<void> {
  const now = Date.now();
  const isUnderWay = last?.endedAt === null && now - last.attemptedAt.getTime() <= ATTEMPT_EXPIRY_MS;
  if (isUnderWay) throw callbackFailed('an attempt is under way', RECHECK_MS);
  const leftMs = (last?.nextAttemptAt?.getTime() ?? now) - now;
  if (leftMs > BRIEF_MS) throw callbackFailed(last?.message ?? 'the callback was not accepted', leftMs);
  if (leftMs > 0) await pause(leftMs);
}
