import { ApplicationFailure, Context } from '@temporalio/activity';
import { beginAttempt, endAttempt, pendingCallback, type PendingCallback } from '../database/callbacks.ts';
import type { Database } from '../database/connect.ts';
import type { FeedEntry } from '../domain/feed-events.ts';
import { CALLBACK_RESPONSE_BYTES, CALLBACK_TIMEOUT_MS } from '../domain/limits.ts';
import { CALLBACK_ATTEMPTS, callbackWaitMs } from '../domain/retry-schedules.ts';
import { requestHeaders, storableBody, type AttemptRecord } from '../outbound/attempt-record.ts';
import type { Sender } from '../outbound/attempt.ts';
import type { Traces } from '../outbound/traces.ts';
import { signature } from '../outbound/sign.ts';
import { keepBeating } from './heartbeat.ts';

export type CallbackActivities = ReturnType<typeof createCallbackActivities>;

type Needs = {
  database: Database;
  sender: Sender;
  /** Opens the sealed callback secret of a run. */
  openSecret(sealed: string, executionId: string): string;
  newId: () => string;
  clock: () => Date;
  /** Attempts as parts of traces. */
  traces: Traces;
  /** Told of every attempt that was made. */
  onAttempt?: ((record: AttemptRecord, executionId: string) => void) | undefined;
};

/** What an attempt sends: the same in all attempts of a run. */
type Callback = { url: string; body: string; headers: Record<string, string> };

/**
 * Task result callbacks (specification 2.4, 5.2, 6.4): one call of the activity is one attempt. They are counted by
 * the audit log, since a call that finds the database away, or whose worker dies before it sends, is none.
 */
export function createCallbackActivities(needs: Needs) {
  return {
    /**
     * Sends the callback of an ended run once. Its row is in the audit log before anything is sent.
     * @throws ApplicationFailure of type `CallbackFailed` when the receiver did not answer 2xx in time: with the wait
     *   before the next attempt, or not to be retried after the last one
     */
    async sendCallback({ executionId }: { executionId: string }): Promise<{ status: number }> {
      const pending = await pendingCallback(needs.database, executionId);
      if (pending === null) return { status: 0 };
      const callback = callbackOf(pending, needs);
      const stopBeating = keepBeating();
      try {
        return await tracedAttempt(needs, executionId, callback);
      } finally {
        stopBeating();
      }
    },
  };
}

function callbackOf(pending: PendingCallback, { openSecret }: Needs): Callback {
  const { id, state, url, body, completedAt } = pending;
  const secret = openSecret(pending.callback_secret, id);
  return {
    url,
    body,
    headers: requestHeaders({
      'content-type': 'application/json',
      'x-service-signature': signature(secret, Buffer.from(body)),
      'x-service-event': `task.${state}`,
      'x-service-delivery': id,
      'x-service-timestamp': completedAt.toISOString(),
    }),
  };
}

async function tracedAttempt(
  needs: Needs,
  executionId: string,
  callback: Callback,
): Promise<{ status: number }> {
  const { url } = callback;
  const traced = needs.traces.begin({
    of: 'callback',
    url,
    attributes: { 'baton.execution_id': executionId },
  });
  let made: AttemptRecord | null = null;
  const onAttempt = (record: AttemptRecord): void => {
    made = record;
    needs.onAttempt?.(record, executionId);
  };
  try {
    const headers = { ...callback.headers, ...traced.headers };
    return await attempt({ ...needs, onAttempt }, executionId, { ...callback, headers });
  } finally {
    traced.end(made);
  }
}

async function attempt(needs: Needs, executionId: string, callback: Callback): Promise<{ status: number }> {
  const { database, sender, newId, clock } = needs;
  const id = newId();
  const begun = {
    id,
    execution_id: executionId,
    url: callback.url,
    request_headers: callback.headers,
    request_body: callback.body,
    attempted_at: clock(),
  };
  const number = await beginAttempt(database, begun, CALLBACK_ATTEMPTS);
  if (number === null) throw callbackFailed('the last attempt was interrupted', null);
  const record = await sender.attempt({
    url: callback.url,
    headers: callback.headers,
    body: Buffer.from(callback.body),
    timeoutMs: CALLBACK_TIMEOUT_MS,
    maxResponseBytes: CALLBACK_RESPONSE_BYTES,
    signal: Context.current().cancellationSignal,
  });
  needs.onAttempt?.(record, executionId);
  const completedAt = clock();
  const waitMs = record.outcome === 'succeeded' ? null : callbackWaitMs(number);
  const nextAttemptAt = waitMs === null ? null : new Date(completedAt.getTime() + waitMs);
  const isSuccess = record.outcome === 'succeeded';
  const settled = isSuccess ? 'delivered' : nextAttemptAt === null ? 'failed' : null;
  const ended = endedAttempt(record, completedAt, nextAttemptAt);
  const entry = attemptEntry(number, record, completedAt, nextAttemptAt);
  await endAttempt(database, { id, executionId, ended, entry }, settled);
  if (isSuccess) return { status: record.response?.status ?? 0 };
  throw callbackFailed(record.message ?? 'the callback was not accepted', waitMs);
}

/** `waitMs`: until the next attempt; null when there is none. */
function callbackFailed(message: string, waitMs: number | null): ApplicationFailure {
  const common = { message, type: 'CallbackFailed' };
  return ApplicationFailure.create(
    waitMs === null ? { ...common, nonRetryable: true } : { ...common, nextRetryDelay: waitMs },
  );
}

function attemptEntry(
  number: number,
  record: AttemptRecord,
  completedAt: Date,
  nextAttemptAt: Date | null,
): FeedEntry {
  return {
    key: `callback.attempted:${number}`,
    type: 'callback.attempted',
    at: completedAt.toISOString(),
    data: {
      attempt: number,
      outcome: record.outcome,
      response_status: record.response?.status ?? null,
      failure: record.failure,
      message: record.message,
      duration_ms: record.duration_ms,
      next_attempt_at: nextAttemptAt?.toISOString() ?? null,
    },
  };
}

function endedAttempt(record: AttemptRecord, completedAt: Date, nextAttemptAt: Date | null) {
  return {
    response_status: record.response?.status ?? null,
    response_headers: record.response?.headers ?? null,
    response_body: storableBody(record.response),
    failure: record.failure,
    message: record.message,
    address: record.address,
    duration_ms: record.duration_ms,
    completed_at: completedAt,
    next_attempt_at: nextAttemptAt,
  };
}
