import { sql } from 'kysely';
import type { InferEntity } from '@mikro-orm/core';
import { statements, type Database } from './connect.ts';
import { CallbackAttempt } from './entities.ts';

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
 * Writes the row of an attempt before it is sent and answers its number, counted from 1. An attempt that was
 * begun before and never completed (its process died) is closed as `interrupted` in the same statement.
 */
export async function beginAttempt(database: Database, begun: BegunAttempt): Promise<number> {
  const result = await sql<{ attempt: number }>`
    with closed as (
      update workflow_webhook_deliveries
      set failure = 'interrupted', message = 'the process that sent this attempt ended before it did',
          completed_at = ${begun.attempted_at.toISOString()}::timestamptz
      where execution_id = ${begun.execution_id}::uuid and completed_at is null
    )
    insert into workflow_webhook_deliveries
      (id, execution_id, attempt, url, request_headers, request_body, attempted_at)
    select ${begun.id}::uuid, ${begun.execution_id}::uuid, 1 + count(*), ${begun.url},
           ${JSON.stringify(begun.request_headers)}::json, ${begun.request_body},
           ${begun.attempted_at.toISOString()}::timestamptz
    from workflow_webhook_deliveries where execution_id = ${begun.execution_id}::uuid
    returning attempt
  `.execute(statements(database));
  const attempt = result.rows[0]?.attempt;
  if (attempt === undefined) throw new Error('the attempt was not written');
  return attempt;
}

/** Completes the row of an attempt. */
export async function endAttempt(database: Database, id: string, ended: EndedAttempt): Promise<void> {
  await statements(database)
    .updateTable('workflow_webhook_deliveries')
    .set({
      ...ended,
      response_headers: ended.response_headers === null ? null : JSON.stringify(ended.response_headers),
      completed_at: ended.completed_at?.toISOString(),
      next_attempt_at: ended.next_attempt_at?.toISOString() ?? null,
    } as never)
    .where('id', '=', id)
    .execute();
}

/** Settles how the callback of a run went; a settled one stays as it is. */
export async function settleCallback(
  database: Database,
  executionId: string,
  status: 'delivered' | 'failed',
): Promise<void> {
  await statements(database)
    .updateTable('task_runs')
    .set({ callback_status: status } as never)
    .where('id', '=', executionId)
    .where('callback_status', '=', 'pending')
    .execute();
}
