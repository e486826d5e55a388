import { Context } from '@temporalio/activity';
import { pendingCallback, type PendingCallback } from '../database/callbacks.ts';
import type { Database } from '../database/connect.ts';
import { CALLBACK_TIMEOUT_MS } from '../domain/limits.ts';
import { callbackFailed, LOOK_AGAIN_MS, type CallbackAttempt } from './callback-attempt.ts';
import { keepBeating } from './heartbeat.ts';

export type CallbackActivities = ReturnType<typeof createCallbackActivities>;

type Means = { database: Database; attempt: CallbackAttempt };

/** An attempt that was begun so long ago is over, whatever became of its process. */
const OVER_MS = CALLBACK_TIMEOUT_MS + 2_000;
/** Waits shorter than this are none: processes' clocks differ. */
const SLACK_MS = 100;

/** Callbacks in their own task queue: what was not delivered at once, see {@link CallbacksAtOnce}. */
export function createCallbackActivities({ database, attempt }: Means) {
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
        holdBack(pending);
        return await attempt(pending, Context.current().cancellationSignal);
      } finally {
        stopBeating();
      }
    },
  };
}

/** Whoever has to wait leaves its place to others, and comes again. */
function holdBack({ last }: PendingCallback): void {
  const now = Date.now();
  const isUnderWay = last?.endedAt === null && now - last.attemptedAt.getTime() <= OVER_MS;
  if (isUnderWay) throw callbackFailed('an attempt is under way', LOOK_AGAIN_MS);
  const leftMs = (last?.nextAttemptAt?.getTime() ?? now) - now;
  if (leftMs > SLACK_MS) throw callbackFailed(last?.message ?? 'the callback was not accepted', leftMs);
}
