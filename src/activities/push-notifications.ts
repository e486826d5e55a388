import { StreamResponse } from '@a2a-js/sdk';
import { Context } from '@temporalio/activity';
import { FIRST_STANDING, headOf, standingAfter, updateOf } from '../agents/a2a-updates.ts';
import { listLastEventsOf } from '../database/tasks/feed.ts';
import {
  beginPush,
  endPush,
  extendPush,
  findLastPushAttempt,
  listPushedEvents,
  releasePush,
  settlePush,
  type PushAttemptRow,
  type PushedEvent,
  type PushKey,
} from '../database/tasks/push.ts';
import { findRun } from '../database/tasks/task-runs.ts';
import { CALLBACK_RESPONSE_BYTES, CALLBACK_TIMEOUT_MS, PUSH_CLAIM_MS } from '../domain/common/limits.ts';
import { hasBegunLast, verdictOfAttempt } from '../domain/tasks/callback-schedule.ts';
import type { FeedEvent } from '../domain/tasks/feed-events.ts';
import { requestHeaders, type AttemptRecord } from '../outbound/attempt-record.ts';
import {
  loggedPushHeaders,
  pushHeaders,
  withoutPushSecrets,
  type PushSecrets,
} from '../outbound/push-request.ts';
import { callbackFailed, endedAttempt, RECHECK_MS, type CallbackDependencies } from './callback-attempt.ts';
import { startHeartbeat } from './heartbeat.ts';
import { retryOnOutage } from './retry-on-outage.ts';
import { waitUntilDue } from './send-callback.ts';

/** Dependencies of push notifications: those of callbacks, and the secrets of the receiver. */
export type PushDependencies = CallbackDependencies & {
  openPushSecrets(sealed: string, key: PushKey): PushSecrets;
};

/** A notification to send: an event with its body, and the attempts so far. */
type Notification = {
  event: PushedEvent;
  isLast: boolean;
  url: string;
  body: string;
  headers: Record<string, string>;
  secrets: PushSecrets;
  last: PushAttemptRow | null;
};

export type PushActivities = ReturnType<typeof createPushActivities>;

/** Creates the activity of push notifications. They have the schedule of callbacks, one after another for each address. */
export function createPushActivities(deps: PushDependencies) {
  return {
    /**
     * Makes the next attempt of the next notification. Returns `done` if there is none.
     * @throws ApplicationFailure of type `CallbackFailed` with the wait before the next attempt
     */
    async sendPush(key: PushKey): Promise<'more' | 'done'> {
      using _heartbeat = startHeartbeat();
      const next = await nextNotification(deps, key);
      if (next === null) {
        await releasePush(deps.database, key);
        return 'done';
      }
      const attempts = next.last?.attempt ?? 0;
      const last = next.last && progressOf(next.last);
      await waitUntilDue({ last });
      if (hasBegunLast({ retryId: null, attempts, last }))
        await settlePush(deps.database, next.event, next.isLast);
      else await attempt(deps, next, attempts + 1, Context.current().cancellationSignal);
      return 'more';
    },
  };
}

async function nextNotification(deps: PushDependencies, key: PushKey): Promise<Notification | null> {
  const { database, clock } = deps;
  const config = await extendPush(database, key, new Date(clock().getTime() + PUSH_CLAIM_MS));
  const run = config && (await findRun(database, key.executionId));
  if (config === null || run === null) return null;
  const head = headOf(run);
  for (const event of await listPushedEvents(database, key.executionId, config.sent_seq)) {
    const update = updateOf(head, event, await standingBefore(deps, event));
    if (update === null) continue;
    const body = JSON.stringify(StreamResponse.toJSON(update));
    const secrets = deps.openPushSecrets(config.secrets, key);
    const pushed = { ...key, seq: event.seq };
    const state = update.payload?.$case === 'statusUpdate' ? update.payload.value.metadata?.['state'] : '';
    const message = { delivery: `${event.execution_id}:${event.seq}`, event: `task.${state}`, at: event.at };
    return {
      event: pushed,
      isLast: event.type === 'run.ended',
      url: config.url,
      body,
      headers: requestHeaders(pushHeaders(message, Buffer.from(body), secrets)),
      secrets,
      last: await findLastPushAttempt(database, pushed),
    };
  }
  return null;
}

async function standingBefore({ database }: PushDependencies, { execution_id, seq }: FeedEvent) {
  const types = ['state.changed'] as const;
  const [change] = await listLastEventsOf(database, execution_id, { types, last: seq - 1, limit: 1 });
  return change ? standingAfter(FIRST_STANDING, change) : FIRST_STANDING;
}

function progressOf({ attempted_at, completed_at, next_attempt_at, message }: PushAttemptRow) {
  return {
    attemptedAt: attempted_at,
    endedAt: completed_at ?? null,
    nextAttemptAt: next_attempt_at ?? null,
    message: message ?? null,
  };
}

async function attempt(
  deps: PushDependencies,
  notification: Notification,
  number: number,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { event, url } = notification;
  const attributes = { 'baton.execution_id': event.executionId };
  const traced = deps.traces.begin({ of: 'callback', url, attributes });
  let made: AttemptRecord | null = null;
  try {
    const id = await begin(deps, notification, number, traced.headers);
    made = await deps.sender.attempt({
      url,
      headers: { ...notification.headers, ...traced.headers },
      body: Buffer.from(notification.body),
      timeoutMs: CALLBACK_TIMEOUT_MS,
      maxResponseBytes: CALLBACK_RESPONSE_BYTES,
      signal,
    });
    deps.onAttempt?.(made, event.executionId);
    await end(deps, notification, { id, number, made }, signal);
  } finally {
    traced.end(made);
  }
}

/** Writes the row of the attempt. Returns its id. */
async function begin(
  { database, newId, clock }: PushDependencies,
  { event, url, body, headers }: Notification,
  number: number,
  traceHeaders: Record<string, string>,
): Promise<string> {
  const begun = {
    id: newId(),
    attempt: number,
    url,
    request_headers: loggedPushHeaders({ ...headers, ...traceHeaders }),
    request_body: body,
    attempted_at: clock(),
  };
  if (!(await beginPush(database, event, begun)))
    throw callbackFailed('another process sends it', RECHECK_MS);
  return begun.id;
}

/**
 * Records the result of the attempt.
 * @throws `CallbackFailed` with the wait before the next attempt, if there is one
 */
async function end(
  { database, clock }: PushDependencies,
  { event, isLast, secrets }: Notification,
  { id, number, made }: { id: string; number: number; made: AttemptRecord },
  signal: AbortSignal,
): Promise<void> {
  const completedAt = clock();
  const verdict = verdictOfAttempt({ number, retryId: null }, made.outcome === 'succeeded', completedAt);
  const ended = endedAttempt(made, completedAt, verdict.nextAttemptAt);
  const stored = { headers: ended.response_headers ?? null, body: ended.response_body ?? null };
  const { headers, body } = withoutPushSecrets(stored, secrets);
  await retryOnOutage(async () => {
    await endPush(database, id, { ...ended, response_headers: headers, response_body: body });
    if (verdict.finalStatus !== null) await settlePush(database, event, isLast);
  }, signal);
  if (verdict.waitMs !== null)
    throw callbackFailed(made.message ?? 'the receiver did not accept it', verdict.waitMs);
}
