import { sql } from 'kysely';
import type { InferEntity } from '@mikro-orm/core';
import { MAX_LISTED_ATTEMPTS } from '../../domain/common/limits.ts';
import { limitPayloads, type ListedAttempt } from '../../domain/tasks/listed-attempts.ts';
import { triggerOf } from '../../domain/tasks/callback.ts';
import type { FeedEntry } from '../../domain/tasks/feed-events.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { CallbackAttempt, TaskRun } from './entities.ts';
import { recordAudit } from '../people/audit.ts';
import { CHANNELS } from '../common/notifications.ts';
import { runPrepared } from '../common/prepared.ts';
import type { TaskRunRow } from './task-runs.ts';

export type CallbackAttemptRow = InferEntity<typeof CallbackAttempt>;

const UNKNOWN_END = 'the result of this attempt could not be recorded';

/** An attempt before it is sent. */
export type BegunAttempt = Pick<
  CallbackAttemptRow,
  'id' | 'execution_id' | 'url' | 'request_headers' | 'request_body' | 'attempted_at'
> & {
  /** The manual retry that the attempt is made for; null for an attempt of the schedule. */
  retryId: string | null;
};

/** The result of an attempt. */
export type EndedAttempt = Pick<
  CallbackAttemptRow,
  | 'response_status'
  | 'response_headers'
  | 'response_body'
  | 'failure'
  | 'message'
  | 'address'
  | 'duration_ms'
  | 'completed_at'
  | 'next_attempt_at'
  | 'reconnected'
>;

/**
 * Returns the newest {@link MAX_LISTED_ATTEMPTS} attempts of a run's callback, oldest first; the older ones without their
 * payloads if all are too large.
 */
export async function listCallbackAttempts(
  database: Database,
  executionId: string,
): Promise<ListedAttempt<CallbackAttemptRow>[]> {
  const newest = await database.em.fork().find(CallbackAttempt, { execution_id: executionId }, NEWEST);
  return limitPayloads(newest).toReversed();
}

const NEWEST = { orderBy: { attempt: 'desc' }, limit: MAX_LISTED_ATTEMPTS } as const;
/** Without requests and responses: the detail of a run is read often, and a body can have 200 KiB. */
const BRIEF = [
  'attempt',
  'trigger',
  'attempted_at',
  'response_status',
  'failure',
  'message',
  'duration_ms',
  'next_attempt_at',
] as const;

/** An attempt as the detail of its run shows it. */
export type BriefCallbackAttempt = Pick<CallbackAttemptRow, (typeof BRIEF)[number]>;

/** Returns the same attempts as {@link listCallbackAttempts} briefly. */
export async function listBriefCallbackAttempts(
  database: Database,
  executionId: string,
): Promise<BriefCallbackAttempt[]> {
  const newest = await database.em
    .fork()
    .find(CallbackAttempt, { execution_id: executionId }, { ...NEWEST, fields: BRIEF });
  return newest.toReversed();
}

/**
 * Writes the row of the next attempt before it is sent, and returns its number, counted from 1. Returns null and writes
 * nothing if the callback or its retry has ended, or another attempt started after `earlier` ones were read. An earlier
 * attempt without a recorded end (its process died, or could not write) is closed as `interrupted`.
 */
export async function beginAttempt(
  database: Database,
  begun: BegunAttempt,
  earlier: number,
): Promise<number | null> {
  const statement = sql<{ attempt: number }>`
    with run as (
      select id from task_runs
      where id = ${begun.execution_id}::uuid and ${isAwaited(begun.retryId)}
      for update
    ), last as (
      -- Locked, since a statement that waited for the run's row does not see that an attempt has been withdrawn since.
      select attempt from workflow_webhook_deliveries
      where execution_id = (select id from run)
      order by attempt desc limit 1
      for no key update
    ), allowed as (
      select id from run where ${earlier} = coalesce((select attempt from last), 0)
    ), closed as (
      update workflow_webhook_deliveries
      set failure = 'interrupted', message = ${UNKNOWN_END}, completed_at = ${begun.attempted_at.toISOString()}::timestamptz
      where execution_id = (select id from allowed) and completed_at is null
    )
    insert into workflow_webhook_deliveries
      (id, execution_id, attempt, url, request_headers, request_body, attempted_at, "trigger")
    select ${begun.id}::uuid, allowed.id, 1 + ${earlier}::integer, ${begun.url},
           ${JSON.stringify(begun.request_headers)}::json, ${begun.request_body},
           ${begun.attempted_at.toISOString()}::timestamptz, ${triggerOf(begun.retryId)}
    from allowed
    -- It does not see attempts that have begun since, either.
    on conflict (execution_id, attempt) do nothing
    returning attempt
  `.compile(queryBuilderOf(database));
  return (await runPrepared(database, statement)).rows[0]?.attempt ?? null;
}

/** Returns the condition that a callback may be attempted: by the schedule, or for the manual retry with this id. */
function isAwaited(retryId: string | null) {
  return retryId === null ? sql`callback_status = 'pending'` : sql`callback_retry_id = ${retryId}::uuid`;
}

/** Returns the number of an attempt that has begun; null if it has not, or has ended. */
export async function findBegunAttempt(database: Database, id: string): Promise<number | null> {
  const { rows } = await sql<{ attempt: number }>`
    select attempt from workflow_webhook_deliveries where id = ${id}::uuid and completed_at is null
  `.execute(queryBuilderOf(database));
  return rows[0]?.attempt ?? null;
}

/**
 * Completes an attempt in one statement: its row, its event in the run's feed, and the final status of the callback
 * once it is known. A manual attempt also ends its retry.
 */
export async function endAttempt(
  database: Database,
  attempt: { id: string; executionId: string; ended: EndedAttempt; entry: FeedEntry },
  finalStatus: 'delivered' | 'failed' | null,
): Promise<void> {
  const { id, executionId, ended, entry } = attempt;
  const statement = sql`
    with locked as (
      -- Locks the run first, then the attempt, as the start of an attempt does. The other order could deadlock.
      select id from task_runs where id = ${executionId}::uuid for no key update
    ), attempt as (
      update workflow_webhook_deliveries
      set response_status = ${ended.response_status},
          response_headers = ${ended.response_headers ? JSON.stringify(ended.response_headers) : null}::json,
          response_body = ${ended.response_body}, failure = ${ended.failure}, message = ${ended.message},
          address = ${ended.address}, duration_ms = ${ended.duration_ms},
          completed_at = ${ended.completed_at?.toISOString()}::timestamptz,
          next_attempt_at = ${ended.next_attempt_at?.toISOString() ?? null}::timestamptz,
          reconnected = ${ended.reconnected}
      where id = ${id}::uuid and execution_id = (select id from locked) and completed_at is null
      returning execution_id, "trigger"
    ), run as (
      update task_runs
      set last_seq = last_seq + 1, view_seq = last_seq + 1,
          callback_status = case when callback_status = 'pending' or attempt."trigger" = 'manual'
            then coalesce(${finalStatus}, callback_status) else callback_status end,
          callback_retry_id = case when attempt."trigger" = 'manual' then null else callback_retry_id end
      from attempt
      where id = attempt.execution_id
      returning last_seq
    ), written as (
      insert into task_events (execution_id, seq, key, type, at, data)
      select ${executionId}::uuid, last_seq, ${entry.key}, ${entry.type}, ${entry.at}::timestamptz,
             ${JSON.stringify(entry.data)}::json
      from run
    )
    select pg_notify(${CHANNELS.feed}, ${executionId}) from run
  `.compile(queryBuilderOf(database));
  await runPrepared(database, statement);
}

/** Deletes an attempt that was not sent, unless something else has closed it. */
export async function withdrawAttempt(
  database: Database,
  { id, executionId }: { id: string; executionId: string },
): Promise<void> {
  await sql`
    with locked as (
      select id from task_runs where id = ${executionId}::uuid for no key update
    )
    delete from workflow_webhook_deliveries
    where id = ${id}::uuid and execution_id = (select id from locked) and completed_at is null
  `.execute(queryBuilderOf(database));
}

/** The data of a run that its callback needs. */
export type PendingCallback = Pick<TaskRunRow, 'id' | 'state' | 'callback_secret'> & {
  /** The manual retry to make the attempt for; null for an attempt of the schedule. */
  retryId: string | null;
  url: string;
  body: string;
  completedAt: Date;
  /** Number of started attempts, and the last one. `endedAt` is null until its end is recorded. */
  attempts: number;
  last: {
    attemptedAt: Date;
    endedAt: Date | null;
    nextAttemptAt: Date | null;
    message: string | null;
  } | null;
};

/**
 * Returns a callback that is still to be sent, by the schedule or for the manual retry `retryId`, with its progress. Null
 * if there is none (any more).
 */
export async function findPendingCallback(
  database: Database,
  executionId: string,
  retryId: string | null = null,
): Promise<PendingCallback | null> {
  const statement = sql<PendingRow>`
    select run.state, run.callback_secret, run.callback_url, run.callback_body, run.completed_at,
      coalesce(last.attempt, 0) as attempts,
      last.attempted_at, last.completed_at as ended_at, last.next_attempt_at, last.message
    from task_runs run left join lateral (
      select attempt, attempted_at, completed_at, next_attempt_at, message from workflow_webhook_deliveries
      where execution_id = run.id order by attempt desc limit 1
    ) as last on true
    where run.id = ${executionId}::uuid and ${isAwaited(retryId)} and run.completed_at is not null
      and run.callback_url is not null and run.callback_body is not null
  `.compile(queryBuilderOf(database));
  const [row] = (await runPrepared(database, statement)).rows;
  if (!row) return null;
  const { state, callback_secret, callback_url: url, callback_body: body } = row;
  const { attempts, attempted_at, message } = row;
  const last =
    attempted_at === null
      ? null
      : {
          attemptedAt: new Date(attempted_at),
          endedAt: dateOf(row.ended_at),
          nextAttemptAt: dateOf(row.next_attempt_at),
          message,
        };
  return {
    id: executionId,
    retryId,
    state,
    callback_secret,
    url,
    body,
    completedAt: new Date(row.completed_at),
    attempts,
    last,
  };
}

/** Times in the driver's form. */
type PendingRow = Pick<TaskRunRow, 'state' | 'callback_secret'> & {
  callback_url: string;
  callback_body: string;
  completed_at: string;
  attempts: number;
  attempted_at: string | null;
  ended_at: string | null;
  next_attempt_at: string | null;
  message: string | null;
};

function dateOf(time: string | null): Date | null {
  return time === null ? null : new Date(time);
}

/**
 * Ends a callback, or its manual retry `retryId`, that has no recorded end: marks it as `failed`, with an event, since the
 * feed of a run with a callback ends with one. Does nothing if it has ended.
 */
export async function giveUpCallback(
  database: Database,
  executionId: string,
  at: Date,
  retryId: string | null = null,
): Promise<void> {
  const data = {
    trigger: triggerOf(retryId),
    outcome: 'failed',
    response_status: null,
    failure: 'interrupted',
    message: UNKNOWN_END,
    duration_ms: null,
    next_attempt_at: null,
  };
  const key = retryId === null ? 'callback.given-up' : `callback.given-up:${retryId}`;
  const lock = sql`select from task_runs where id = ${executionId}::uuid for no key update`;
  const close = sql`
    with run as (
      update task_runs
      set last_seq = last_seq + 1, view_seq = last_seq + 1, callback_status = 'failed', callback_retry_id = null
      where id = ${executionId}::uuid and ${isAwaited(retryId)}
      returning id, last_seq
    ), closed as (
      update workflow_webhook_deliveries
      set failure = 'interrupted', message = ${data.message}, completed_at = ${at.toISOString()}::timestamptz
      where execution_id = (select id from run) and completed_at is null
    ), written as (
      insert into task_events (execution_id, seq, key, type, at, data)
      select run.id, last_seq, ${key}, 'callback.attempted', ${at.toISOString()}::timestamptz,
             (jsonb_build_object('attempt', 1 + ended.count) || ${JSON.stringify(data)}::jsonb)::json
      from run, lateral (
        select count(*) from workflow_webhook_deliveries where execution_id = run.id and completed_at is not null
      ) as ended
    )
    select pg_notify(${CHANNELS.feed}, ${executionId}) from run
  `;
  // Two statements, so that the second one sees an attempt that began while the first one waited.
  await queryBuilderOf(database)
    .transaction()
    .execute(async (transaction) => {
      await lock.execute(transaction);
      await close.execute(transaction);
    });
}

/**
 * Requests one more attempt of a failed callback, and writes an audit entry. Returns false and writes nothing if the
 * callback has not failed, or an earlier retry has not ended.
 */
export async function requestCallbackRetry(
  database: Database,
  retry: { executionId: string; retryId: string; workspaceId: string; actor: string; now: Date },
): Promise<boolean> {
  const { executionId: id, retryId, workspaceId, actor, now } = retry;
  return await database.em.fork().transactional(async (em) => {
    const requested = await em.nativeUpdate(
      TaskRun,
      { id, callback_status: 'failed', callback_retry_id: null, callback_body: { $ne: null } },
      { callback_retry_id: retryId },
    );
    if (requested === 0) return false;
    const subject = `task:${id}`;
    await recordAudit(em, { workspaceId, actor, action: 'task.callback_retried', subject, at: now });
    return true;
  });
}

/** Returns the manual retries that were requested and have not ended. */
export async function listCallbackRetries(
  database: Database,
  limit: number,
): Promise<{ executionId: string; retryId: string }[]> {
  const rows = await database.em
    .fork()
    .find(
      TaskRun,
      { callback_retry_id: { $ne: null } },
      { orderBy: { callback_retry_id: 'asc' }, limit, fields: ['id', 'callback_retry_id'] },
    );
  return rows.map(({ id, callback_retry_id: retryId }) => ({ executionId: id, retryId: retryId ?? '' }));
}
