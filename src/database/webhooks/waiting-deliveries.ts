import { sql } from 'kysely';
import { BATCH_ROWS, changeInBatches, REST, type Rest } from '../common/batches.ts';
import { retryOnDeadlock } from '../common/outage.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { notificationCte, NOTIFIED } from './watched-webhooks.ts';

/*
 * The deliveries that wait when their webhook is disabled or deleted. There may be hundreds of thousands, so they change
 * in batches after the webhook's own change was committed. Nothing depends on when that happens: each attempt reads the
 * webhook before it sends.
 */

/**
 * Holds the waiting deliveries of a disabled webhook, or cancels those of a deleted one, in batches. Does nothing if it
 * is neither, and stops when it is enabled again, or after `maxMs`. Skips rows that a transaction has locked. Can be repeated.
 */
export async function holdOrCancelWaiting(
  database: Database,
  webhookId: string,
  { rest = REST.inBackground, maxMs = Number.POSITIVE_INFINITY }: { rest?: Rest; maxMs?: number } = {},
): Promise<void> {
  const until = performance.now() + maxMs;
  for (const status of ['pending', 'retrying', 'held'] as const) {
    const change = (after: string) =>
      retryOnDeadlock(() => holdOrCancelBatch(database, webhookId, { status, after }));
    await changeInBatches(change, rest, until);
  }
}

/**
 * Changes the next deliveries of one status after an id. Returns the last id; null if there are none. The lock keeps the
 * webhook from being enabled before the batch is committed.
 */
async function holdOrCancelBatch(
  database: Database,
  webhookId: string,
  { status, after }: { status: 'pending' | 'retrying' | 'held'; after: string },
): Promise<string | null> {
  const { rows } = await sql<{ last: string | null }>`
    with webhook as materialized (
      select deleted_at is not null as deleted from webhooks
      where id = ${webhookId}::uuid and (deleted_at is not null or disabled_at is not null and ${status} <> 'held')
      for share
    ), waiting as materialized (
      select d.id, webhook.deleted from webhook, deliveries d
      where d.webhook_id = ${webhookId}::uuid and d.status = ${status} and d.id > ${after}::uuid
        and (webhook.deleted or not d.test)
      order by d.id limit ${BATCH_ROWS} for update of d skip locked
    ), aside as (
      update deliveries d set
        status = case when waiting.deleted then 'cancelled' else 'held' end,
        reason = case when waiting.deleted then 'the webhook was deleted' else 'the webhook is disabled' end,
        in_backlog = false, next_attempt_at = null, generation = d.generation + 1, updated_at = clock_timestamp()
      from waiting where d.id = waiting.id
      returning d.id, d.webhook_id
    ), ${notificationCte('aside')}
    select max(id::text) as last, ${NOTIFIED} as notified from aside
  `.execute(queryBuilderOf(database));
  return rows[0]?.last ?? null;
}

/** Returns disabled and deleted webhooks with deliveries that still wait. */
export async function listWebhooksWithWaiting(database: Database, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from webhooks w
    where (deleted_at is not null or disabled_at is not null) and (
      exists (select from deliveries where webhook_id = w.id and status = 'pending' and (w.deleted_at is not null or not test))
      or exists (select from deliveries where webhook_id = w.id and status = 'retrying' and (w.deleted_at is not null or not test))
      or w.deleted_at is not null and exists (select from deliveries where webhook_id = w.id and status = 'held'))
    order by id limit ${limit}
  `.execute(queryBuilderOf(database));
  return rows.map(({ id }) => id);
}
