import { sql, type RawBuilder } from 'kysely';
import type { EventKind } from '../../domain/webhooks/event-kinds.ts';
import { chunksOf } from '../../domain/common/chunks.ts';
import { BATCH_ROWS, changeInBatches, makePart, REST } from '../common/batches.ts';
import { NIL } from '../common/ids.ts';
import { retryOnDeadlock } from '../common/outage.ts';
import { recordAudit } from '../people/audit.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { createdSince } from './deliveries.ts';
import { notificationCte, NOTIFIED } from './watched-webhooks.ts';
import { withLockedWebhook, type WebhookRow } from './webhooks.ts';

/** The deliveries of a webhook whose schedule restarts, and the actor. */
export type Recovery = {
  workspaceId: string;
  webhookId: string;
  since: Date;
  /** All deliveries of these statuses since `since`. */
  statuses: readonly ('held' | 'failed')[];
  /** Ids of skipped deliveries. */
  skipped: readonly string[];
  actor: string;
  now: Date;
};

/** A skipped delivery, with the payload to match it with the current filters. */
export type SkippedDelivery = { id: string; event: EventKind; body: string };

/** Skipped deliveries that are read at once, and bytes of their payloads: to match them takes milliseconds. A larger one is read alone. */
const READ_ROWS = 200;
const READ_BYTES = 256 * 1_024;

/** Skipped deliveries of a webhook since a time, of some kinds. */
type Skipped = { webhookId: string; since: Date; events: readonly EventKind[] };

/** Counts skipped deliveries whose payload still exists. */
export async function countSkippedDeliveries(
  database: Database,
  { webhookId, since, events }: Skipped,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from deliveries d join events e on e.seq = d.event_seq
    where d.webhook_id = ${webhookId}::uuid and d.status = 'skipped' and d.event = any(${[...events]}::text[])
      and ${createdSince(since)} and e.body is not null and not d.test
  `.execute(queryBuilderOf(database));
  return rows[0]?.count ?? 0;
}

/** Yields skipped deliveries with their payloads if they still exist, in batches, oldest first. */
export async function* readSkippedDeliveries(
  database: Database,
  { webhookId, since, events }: Skipped,
): AsyncGenerator<SkippedDelivery[]> {
  if (events.length === 0) return;
  for (let after = NIL; ; ) {
    const { rows } = await sql<SkippedDelivery>`
      with next as (
        select d.id, d.event, d.event_seq, octet_length(e.body) as size
        from deliveries d join events e on e.seq = d.event_seq
        where d.webhook_id = ${webhookId}::uuid and d.status = 'skipped' and d.id > ${after}::uuid
          and d.event = any(${[...events]}::text[])
          and ${createdSince(since)} and e.body is not null and not d.test
        order by d.id limit ${READ_ROWS}
      ), counted as (
        select id, event, event_seq, size, sum(size) over (order by id) as total from next
      )
      select counted.id, counted.event, body from counted join events on seq = event_seq
      where (total <= ${READ_BYTES} or total = size) and body is not null order by counted.id
    `.execute(queryBuilderOf(database));
    const last = rows.at(-1);
    if (!last) return;
    yield rows;
    after = last.id;
  }
}

/**
 * Moves deliveries to the backlog of their webhook, each at the start of its schedule. They move in batches, each in
 * its own transaction, after the audit entry was written. `check` gets the locked webhook and may throw. Returns the
 * number of deliveries at the start; null if there is no such webhook. Deliveries without payload stay unchanged. Stops
 * if the webhook is disabled, deactivated or deleted between two batches. After an error, the other deliveries are
 * unchanged, and can be recovered again.
 */
export async function recoverDeliveries(
  database: Database,
  recovery: Recovery,
  check: (webhook: WebhookRow) => void,
): Promise<number | null> {
  const { workspaceId, webhookId, since, statuses, skipped, actor, now } = recovery;
  const count = (await countRecoverable(database, recovery)) + skipped.length;
  const isAllowed = await withLockedWebhook(database, { workspaceId, id: webhookId }, async (em, webhook) => {
    check(webhook);
    await recordAudit(em, {
      workspaceId,
      actor,
      action: 'webhook.recovered',
      subject: `webhook:${webhookId}`,
      detail: { name: webhook.name, since: since.toISOString(), statuses, skipped: skipped.length, count },
      at: now,
    });
    return true;
  });
  if (!isAllowed) return null;
  for (const status of statuses) {
    const which = (after: string) =>
      sql`d.status = ${status} and ${createdSince(since)} and d.id > ${after}::uuid`;
    await changeInBatches(
      (after) => restartSchedules(database, recovery, which(after)),
      REST.whileRequestWaits,
    );
  }
  for await (const ids of chunksOf(skipped, BATCH_ROWS)) {
    const which = sql`d.status = 'skipped' and d.id = any(${ids}::uuid[])`;
    await makePart(() => restartSchedules(database, recovery, which), REST.whileRequestWaits);
  }
  return count;
}

/** Counts the deliveries of these statuses that `recoverDeliveries` would restart. The caller counts skipped ones. */
export async function countRecoverable(
  database: Database,
  { webhookId, since, statuses }: Pick<Recovery, 'webhookId' | 'since' | 'statuses'>,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from deliveries d join events e on e.seq = d.event_seq
    where e.body is not null and d.webhook_id = ${webhookId}::uuid and not d.test
      and d.status <> 'succeeded' and d.status = any(${[...statuses]}::text[])
      and ${createdSince(since)}
  `.execute(queryBuilderOf(database));
  return rows[0]?.count ?? 0;
}

/**
 * Restarts the next matching deliveries, in the order of their ids. Returns the last id; null if there are none. The
 * lock keeps the webhook from being disabled before the batch is committed.
 */
async function restartSchedules(
  database: Database,
  { webhookId, now }: Recovery,
  which: RawBuilder<unknown>,
): Promise<string | null> {
  const statement = sql<{ last: string | null }>`
    with webhook as materialized (
      select id from webhooks
      where id = ${webhookId}::uuid and active and disabled_at is null and deleted_at is null for share
    ), chosen as materialized (
      select d.id from webhook, deliveries d join events e on e.seq = d.event_seq
      where d.webhook_id = ${webhookId}::uuid and e.body is not null and not d.test and ${which}
      order by d.id limit ${BATCH_ROWS} for update of d
    ), aside as (
      update deliveries d
      set status = 'pending', reason = null, in_backlog = true, failures = 0, generation = d.generation + 1,
        retry_started = false, next_attempt_at = null, updated_at = ${now.toISOString()}::timestamptz
      from chosen where d.id = chosen.id
      returning d.id, d.webhook_id
    ), ${notificationCte('aside')}
    select max(id::text) as last, ${NOTIFIED} as notified from aside`;
  const { rows } = await retryOnDeadlock(() => statement.execute(queryBuilderOf(database)));
  return rows[0]?.last ?? null;
}
