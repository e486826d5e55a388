import { setTimeout as pause } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { findPendingCallback, type PendingCallback } from '../database/tasks/callbacks.ts';
import type { Database } from '../database/database.ts';
import type { CallbackRetry } from '../temporal/task-messages.ts';
import { timeUntilDue } from '../domain/tasks/callback-schedule.ts';
import { callbackFailed, RECHECK_MS, type CallbackAttempt } from './callback-attempt.ts';
import { startHeartbeat } from './heartbeat.ts';

export type CallbackActivities = ReturnType<typeof createCallbackActivities>;

type Dependencies = { database: Database; attempt: CallbackAttempt };

/** Waits up to this time are spent inside the activity, in milliseconds. */
const BRIEF_MS = 100;

/**
 * Creates the activity of the callbacks' own task queue, for callbacks that {@link ImmediateCallbacks} did not deliver.
 */
export function createCallbackActivities({ database, attempt }: Dependencies) {
  async function attemptNext(executionId: string, retryId: string | null): Promise<{ status: number }> {
    using _heartbeat = startHeartbeat();
    const pending = await findPendingCallback(database, executionId, retryId);
    if (pending === null) return { status: 0 };
    await waitUntilDue(pending);
    return await attempt(pending, Context.current().cancellationSignal);
  }

  return {
    /**
     * Makes the next attempt of an ended run's callback, unless one is in flight elsewhere or the next is not due yet.
     * @throws ApplicationFailure of type `CallbackFailed`, see {@link CallbackAttempt}; also with the time until an
     * attempt can be made
     */
    sendCallback: ({ executionId }: { executionId: string }) => attemptNext(executionId, null),

    /**
     * Makes the attempt of a manual retry, unless it is in flight elsewhere.
     * @throws ApplicationFailure as `sendCallback`
     */
    retryCallback: ({ executionId, retryId }: CallbackRetry) => attemptNext(executionId, retryId),
  };
}

/** Waits until the attempt is due. Throws if the wait is long, so that the activity does not occupy a place. */
export async function waitUntilDue({ last }: Pick<PendingCallback, 'last'>): Promise<void> {
  const leftMs = timeUntilDue({ last }, Date.now());
  if (leftMs === null) throw callbackFailed('an attempt is in progress', RECHECK_MS);
  if (leftMs > BRIEF_MS) throw callbackFailed(last?.message ?? 'the receiver did not accept it', leftMs);
  if (leftMs > 0) await pause(leftMs);
}
