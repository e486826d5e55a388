import { ApplicationFailure } from '@temporalio/activity';
import {
  beginAttempt,
  endAttempt,
  findBegunAttempt,
  withdrawAttempt,
  type PendingCallback,
} from '../database/tasks/callbacks.ts';
import { retryOnDeadlock } from '../database/common/outage.ts';
import type { Database } from '../database/database.ts';
import { triggerOf } from '../domain/tasks/callback.ts';
import { hasBegunLast, verdictOfAttempt } from '../domain/tasks/callback-schedule.ts';
import type { FeedEntry } from '../domain/tasks/feed-events.ts';
import { CALLBACK_RESPONSE_BYTES, CALLBACK_TIMEOUT_MS } from '../domain/common/limits.ts';
import { requestHeaders, storableBody, type AttemptRecord } from '../outbound/attempt-record.ts';
import type { OutboundClient } from '../outbound/attempt.ts';
import type { Traces } from '../outbound/traces.ts';
import { signature } from '../outbound/sign.ts';
import { retryOnOutage } from './retry-on-outage.ts';

/** Dependencies of callback attempts. */
export type CallbackDependencies = {
  database: Database;
  sender: OutboundClient;
  /** Opens the sealed callback secret of a run. */
  openSecret(sealed: string, executionId: string): string;
  newId: () => string;
  clock: () => Date;
  /** Creates the trace spans of attempts. */
  traces: Traces;
  /** Called after every attempt. */
  onAttempt?: ((record: AttemptRecord, executionId: string) => void) | undefined;
  /** Longest time to start an attempt, in milliseconds. Default: {@link MAX_START_MS}. */
  maxStartMs?: number;
};

/**
 * Makes the next attempt of a callback (docs/callbacks.md). Its row is in the audit log before anything is sent, and
 * the audit log counts the attempts. A manual retry is a single attempt. A call does not count if the database is down,
 * if its process dies before sending, or if another process was faster.
 * @throws ApplicationFailure of type `CallbackFailed` if the receiver did not respond with 2xx in time: with the wait
 * before the next attempt, or non-retryable after the last one
 */
export type CallbackAttempt = (pending: PendingCallback, signal: AbortSignal) => Promise<{ status: number }>;

/** Time until the next check whether another process has ended its attempt, in milliseconds. */
export const RECHECK_MS = 1_000;
/**
 * Longest time to start an attempt, in milliseconds. A slower start (a stalled database, a frozen process) is withdrawn
 * before sending: its request would still be in progress when others consider it over.
 */
const MAX_START_MS = 1_500;

/** The request of a callback, the same in all attempts of a run. */
type Callback = { url: string; body: string; headers: Record<string, string> };
/** One attempt. `earlier`: number of attempts that started before. `retryId`: the manual retry that it is made for. */
type NextAttempt = Callback & { earlier: number; retryId: string | null };

export function createCallbackAttempt(deps: CallbackDependencies): CallbackAttempt {
  return async (pending, signal) => {
    const { id, url } = pending;
    const callback = callbackOf(pending, deps);
    const attributes = { 'baton.execution_id': id };
    const traced = deps.traces.begin({ of: 'callback', url, attributes });
    let made: AttemptRecord | null = null;
    const onAttempt = (record: AttemptRecord): void => {
      made = record;
      deps.onAttempt?.(record, id);
    };
    try {
      const headers = { ...callback.headers, ...traced.headers };
      const { attempts: earlier, retryId } = pending;
      if (hasBegunLast(pending)) throw callbackFailed('the last attempt was interrupted', null);
      return await attempt({ ...deps, onAttempt }, id, { ...callback, headers, earlier, retryId }, signal);
    } finally {
      traced.end(made);
    }
  };
}

function callbackOf(pending: PendingCallback, { openSecret }: CallbackDependencies): Callback {
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

async function attempt(
  deps: CallbackDependencies,
  executionId: string,
  callback: NextAttempt,
  signal: AbortSignal,
): Promise<{ status: number }> {
  const { database, sender } = deps;
  const { retryId } = callback;
  signal.throwIfAborted();
  const begun = await begin(deps, executionId, callback, signal);
  const record = await sender.attempt({
    url: callback.url,
    headers: callback.headers,
    body: Buffer.from(callback.body),
    timeoutMs: CALLBACK_TIMEOUT_MS,
    maxResponseBytes: CALLBACK_RESPONSE_BYTES,
    signal,
  });
  deps.onAttempt?.(record, executionId);
  const isSuccess = record.outcome === 'succeeded';
  const completedAt = deps.clock();
  const made = { number: begun.number, retryId };
  const { finalStatus, waitMs, nextAttemptAt } = verdictOfAttempt(made, isSuccess, completedAt);
  const ended = endedAttempt(record, completedAt, nextAttemptAt);
  const entry = attemptEntry(made, record, completedAt, nextAttemptAt);
  await writeWithRetries(
    () => endAttempt(database, { ...begun, executionId, ended, entry }, finalStatus),
    signal,
  );
  if (isSuccess) return { status: record.response?.status ?? 0 };
  throw callbackFailed(record.message ?? 'the callback was not accepted', waitMs);
}

/**
 * Writes the row of the next attempt.
 * @throws `CallbackFailed` if nothing may be sent at the moment
 */
async function begin(
  { database, newId, clock, maxStartMs = MAX_START_MS }: CallbackDependencies,
  executionId: string,
  { url, headers, body, earlier, retryId }: NextAttempt,
  signal: AbortSignal,
): Promise<{ id: string; number: number }> {
  const startedAt = performance.now();
  const id = newId();
  const begun = {
    id,
    execution_id: executionId,
    url,
    request_headers: headers,
    request_body: body,
    attempted_at: clock(),
    retryId,
  };
  // If the connection breaks, the row may be stored or not. An attempt that is never sent must not count.
  const number = await retryOnOutage(async (isAgain) => {
    const find = async () => (isAgain ? await findBegunAttempt(database, id) : null);
    // The first try may also commit while the second one waits for it.
    return (await find()) ?? (await beginAttempt(database, begun, earlier)) ?? (await find());
  }, signal);
  if (number === null) throw callbackFailed('another process sends it', RECHECK_MS);
  if (performance.now() - startedAt > maxStartMs) {
    await writeWithRetries(() => withdrawAttempt(database, { id, executionId }), signal);
    throw callbackFailed('it took too long to start', RECHECK_MS);
  }
  return { id, number };
}

/**
 * Records the result of an attempt, with retries for deadlocks and database outages, until `signal` ends the process.
 */
async function writeWithRetries(write: () => Promise<void>, signal: AbortSignal): Promise<void> {
  await retryOnOutage(() => retryOnDeadlock(write), signal);
}

/** Creates the failure of a callback attempt. `waitMs`: until the next attempt; null if there is none. */
export function callbackFailed(message: string, waitMs: number | null): ApplicationFailure {
  const common = { message, type: 'CallbackFailed' };
  return ApplicationFailure.create(
    waitMs === null ? { ...common, nonRetryable: true } : { ...common, nextRetryDelay: waitMs },
  );
}

function attemptEntry(
  { number, retryId }: { number: number; retryId: string | null },
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
      trigger: triggerOf(retryId),
      outcome: record.outcome,
      response_status: record.response?.status ?? null,
      failure: record.failure,
      message: record.message,
      duration_ms: record.duration_ms,
      next_attempt_at: nextAttemptAt?.toISOString() ?? null,
    },
  };
}

/** Returns the recorded end of an attempt. */
export function endedAttempt(record: AttemptRecord, completedAt: Date, nextAttemptAt: Date | null) {
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
    reconnected: record.timings.reconnected ?? false,
  };
}
