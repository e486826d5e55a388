import { ApplicationFailure, Context } from '@temporalio/activity';
import { beginAttempt, endAttempt, settleCallback } from '../database/callbacks.ts';
import type { Database } from '../database/connect.ts';
import { appendAfterEnd } from '../database/feed.ts';
import { findRun, type TaskRunRow } from '../database/task-runs.ts';
import { CALLBACK_RESPONSE_BYTES, CALLBACK_TIMEOUT_MS } from '../domain/limits.ts';
import { callbackWaitMs } from '../domain/retry-schedules.ts';
import { requestHeaders, type AttemptRecord } from '../outbound/attempt-record.ts';
import type { Sender } from '../outbound/attempt.ts';
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
};

/** What an attempt sends: the same in all attempts of a run. */
type Callback = { url: string; body: string; headers: Record<string, string> };

/** Task result callbacks (specification 2.4, 5.2, 6.4): one call of the activity is one attempt. */
export function createCallbackActivities(needs: Needs) {
  return {
    /**
     * Sends the callback of an ended run once. Its row is in the audit log before anything is sent.
     * @throws ApplicationFailure of type `CallbackFailed` when the receiver did not answer 2xx in time; the retry
     *   policy decides whether there is another attempt
     */
    async sendCallback({ executionId }: { executionId: string }): Promise<{ status: number }> {
      const run = await findRun(needs.database, executionId);
      if (!run || run.callback_status !== 'pending' || !run.callback_body || !run.callback_url) {
        return { status: 0 };
      }
      const callback = callbackOf(run, run.callback_url, run.callback_body, needs);
      const stopBeating = keepBeating();
      try {
        return await attempt(needs, executionId, callback);
      } finally {
        stopBeating();
      }
    },
  };
}

function callbackOf(run: TaskRunRow, url: string, body: string, { openSecret }: Needs): Callback {
  const secret = openSecret(run.callback_secret, run.id);
  return {
    url,
    body,
    headers: requestHeaders({
      'content-type': 'application/json',
      'x-service-signature': signature(secret, Buffer.from(body)),
      'x-service-event': `task.${run.state}`,
      'x-service-delivery': run.id,
      'x-service-timestamp': run.completed_at?.toISOString() ?? '',
    }),
  };
}

async function attempt(needs: Needs, executionId: string, callback: Callback): Promise<{ status: number }> {
  const { database, sender, newId, clock } = needs;
  const id = newId();
  const number = await beginAttempt(database, {
    id,
    execution_id: executionId,
    url: callback.url,
    request_headers: callback.headers,
    request_body: callback.body,
    attempted_at: clock(),
  });
  const record = await sender.attempt({
    url: callback.url,
    headers: callback.headers,
    body: Buffer.from(callback.body),
    timeoutMs: CALLBACK_TIMEOUT_MS,
    maxResponseBytes: CALLBACK_RESPONSE_BYTES,
    signal: Context.current().cancellationSignal,
  });
  const completedAt = clock();
  const waitMs = record.outcome === 'succeeded' ? null : callbackWaitMs(number);
  const nextAttemptAt = waitMs === null ? null : new Date(completedAt.getTime() + waitMs);
  await endAttempt(database, id, endedAttempt(record, completedAt, nextAttemptAt));
  await appendAfterEnd(database, executionId, {
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
  });
  const isLast = record.outcome === 'succeeded' || nextAttemptAt === null;
  if (isLast)
    await settleCallback(database, executionId, record.outcome === 'succeeded' ? 'delivered' : 'failed');
  if (record.outcome === 'succeeded') return { status: record.response?.status ?? 0 };
  throw ApplicationFailure.retryable(record.message ?? 'the callback was not accepted', 'CallbackFailed');
}

function endedAttempt(record: AttemptRecord, completedAt: Date, nextAttemptAt: Date | null) {
  return {
    response_status: record.response?.status ?? null,
    response_headers: record.response?.headers ?? null,
    // PostgreSQL's text can't hold a NUL, and an answer may be anything.
    response_body: record.response?.body.toString('utf8').replaceAll('\u0000', '\uFFFD') ?? null,
    failure: record.failure,
    message: record.message,
    address: record.address,
    duration_ms: record.duration_ms,
    completed_at: completedAt,
    next_attempt_at: nextAttemptAt,
  };
}
