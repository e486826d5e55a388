import { setTimeout as pause } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { pendingCallback, type PendingCallback } from '../database/tasks/callbacks.ts';
import type { Database } from '../database/database.ts';
import { callbackFailed, LOOK_AGAIN_MS, OVER_MS, type CallbackAttempt } from './callback-attempt.ts';
import { keepBeating } from './heartbeat.ts';

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
      const stopBeating = keepBeating();
      try {
        const pending = await pendingCallback(database, executionId);
        if (pending === null) return { status: 0 };
        await holdBack(pending);
        return await attempt(pending, Context.current().cancellationSignal);
      } finally {
        stopBeating();
      }
    },
  };
}

/** Whoever has to wait for longer leaves its place to others, and comes again. */
async function holdBack({ last }: PendingCallback): Promise<void> {
  const now = Date.now();
  const isUnderWay = last?.endedAt === null && now - last.attemptedAt.getTime() <= OVER_MS;
  if (isUnderWay) throw callbackFailed('an attempt is under way', LOOK_AGAIN_MS);
  const leftMs = (last?.nextAttemptAt?.getTime() ?? now) - now;
  if (leftMs > BRIEF_MS) throw callbackFailed(last?.message ?? 'the callback was not accepted', leftMs);
  if (leftMs > 0) await pause(leftMs);
}
