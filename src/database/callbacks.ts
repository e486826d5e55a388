import { sql } from 'kysely';
import type { InferEntity } from '@mikro-orm/core';
import type { FeedEntry } from '../domain/feed-events.ts';
import { CALLBACK_ATTEMPTS } from '../domain/retry-schedules.ts';
import { statements, type Database } from './connect.ts';
import { CallbackAttempt } from './entities.ts';
import { CHANNELS } from './notifications.ts';
import type { TaskRunRow } from './task-runs.ts';

export type CallbackAttemptRow = InferEntity<typeof CallbackAttempt>;

/** An attempt as it is known before it is sent. */
export type BegunAttempt = Pick<
  CallbackAttemptRow,
  'id' | 'execution_id' | 'url' | 'request_headers' | 'request_body' | 'attempted_at'
>;

/** What is known of an attempt once it is over. */
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
>;

/** The audit log of a run's callback, oldest first. */
export async function callbackAttempts(
  database: Database,
  executionId: string,
): Promise<CallbackAttemptRow[]> {
  return await database.em
    .fork()
    .find(CallbackAttempt, { execution_id: executionId }, { orderBy: { attempt: 'asc' } });
}

/**
 * Writes the row of an attempt before it is sent and answers its number, counted from 1; null, and nothing is
 * written, where `most` were begun already. An attempt that was begun before and never completed (its process
 * died, or could not write) is closed as `interrupted` in the same statement.
 */
export async function beginAttempt(
  database: Database,
  begun: BegunAttempt,
  most: number,
): Promise<number | null> {
  const result = await sql<{ attempt: number }>`
    with closed as (
      update workflow_webhook_deliveries
      set failure = 'interrupted', message = 'what became of this attempt could not be noted',
          completed_at = ${begun.attempted_at.toISOString()}::timestamptz
      where execution_id = ${begun.execution_id}::uuid and completed_at is null
    )
    insert into workflow_webhook_deliveries
      (id, execution_id, attempt, url, request_headers, request_body, attempted_at)
    select ${begun.id}::uuid, ${begun.execution_id}::uuid, 1 + count(*), ${begun.url},
           ${JSON.stringify(begun.request_headers)}::json, ${begun.request_body},
           ${begun.attempted_at.toISOString()}::timestamptz
    from workflow_webhook_deliveries where execution_id = ${begun.execution_id}::uuid
    having count(*) < ${most}
    returning attempt
  `.execute(statements(database));
  return result.rows[0]?.attempt ?? null;
}

/**
 * Completes an attempt in one statement: its row, the event that tells of it in the run's feed, and, once it is
 * known, how the callback went.
 */
export async function endAttempt(
  database: Database,
  attempt: { id: string; executionId: string; ended: EndedAttempt; entry: FeedEntry },
  settled: 'delivered' | 'failed' | null,
): Promise<void> {
  const { id, executionId, ended, entry } = attempt;
  await sql`
    with attempt as (
      update workflow_webhook_deliveries
      set response_status = ${ended.response_status},
          response_headers = ${ended.response_headers ? JSON.stringify(ended.response_headers) : null}::json,
          response_body = ${ended.response_body}, failure = ${ended.failure}, message = ${ended.message},
          address = ${ended.address}, duration_ms = ${ended.duration_ms},
          completed_at = ${ended.completed_at?.toISOString()}::timestamptz,
          next_attempt_at = ${ended.next_attempt_at?.toISOString() ?? null}::timestamptz
      where id = ${id}::uuid and completed_at is null
      returning execution_id
    ), run as (
      update task_runs
      set last_seq = last_seq + 1, view_seq = last_seq + 1,
          callback_status = case when callback_status = 'pending'
            then coalesce(${settled}, callback_status) else callback_status end
      where id = (select execution_id from attempt)
      returning last_seq
    ), written as (
      insert into task_events (execution_id, seq, key, type, at, data)
      select ${executionId}::uuid, last_seq, ${entry.key}, ${entry.type}, ${entry.at}::timestamptz,
             ${JSON.stringify(entry.data)}::json
      from run
    )
    select pg_notify(${CHANNELS.feed}, ${executionId}) from run
  `.execute(statements(database));
}

/** What the sending of a callback needs of its run; null when there is none to send (any more). */
export type PendingCallback = Pick<TaskRunRow, 'id' | 'state' | 'callback_secret'> & {
  url: string;
  body: string;
  completedAt: Date;
};

export async function pendingCallback(
  database: Database,
  executionId: string,
): Promise<PendingCallback | null> {
  const row = await statements(database)
    .selectFrom('task_runs')
    .select(['id', 'state', 'callback_secret', 'callback_url', 'callback_body', 'completed_at'])
    .where('id', '=', executionId)
    .where('callback_status', '=', 'pending')
    .where('completed_at', 'is not', null)
    .executeTakeFirst();
  if (!row?.callback_url || !row.callback_body || !row.completed_at) return null;
  const { id, state, callback_secret } = row;
  return {
    id,
    state,
    callback_secret,
    url: row.callback_url,
    body: row.callback_body,
    completedAt: new Date(row.completed_at),
  };
}

/**
 * Settles a callback of which no attempt came to an end: `failed`, with an event that says so, since the feed of a
 * run with a callback ends with one. A settled callback stays as it is.
 */
export async function giveUpCallback(database: Database, executionId: string, at: Date): Promise<void> {
  const data = {
    attempt: CALLBACK_ATTEMPTS,
    outcome: 'failed',
    response_status: null,
    failure: 'interrupted',
    message: 'what became of the last attempt could not be noted',
    duration_ms: null,
    next_attempt_at: null,
  };
  await sql`
    with run as (
      update task_runs set last_seq = last_seq + 1, view_seq = last_seq + 1, callback_status = 'failed'
      where id = ${executionId}::uuid and callback_status = 'pending'
      returning last_seq
    ), written as (
      insert into task_events (execution_id, seq, key, type, at, data)
      select ${executionId}::uuid, last_seq, 'callback.given-up', 'callback.attempted',
             ${at.toISOString()}::timestamptz, ${JSON.stringify(data)}::json
      from run
    )
    select pg_notify(${CHANNELS.feed}, ${executionId}) from run
  `.execute(statements(database));
}
