import { sql, type RawBuilder } from 'kysely';
import type { EventKind } from '../../domain/webhooks/event-kinds.ts';
import { recordAudit, type EntityManager } from '../people/audit.ts';
import { queryBuilderOf, type Database } from '../database.ts';
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

const BATCH = 500;

/** Yields skipped deliveries of a webhook since a time whose payload still exists, in batches, oldest first. */
export async function* readSkippedDeliveries(
  database: Database,
  { webhookId, since }: { webhookId: string; since: Date },
): AsyncGenerator<SkippedDelivery[]> {
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const { rows } = await sql<SkippedDelivery>`
      select d.id, d.event, e.body from deliveries d join events e on e.seq = d.event_seq
      where d.webhook_id = ${webhookId}::uuid and d.status = 'skipped' and d.id > ${after}::uuid
        and d.created_at >= ${since.toISOString()}::timestamptz and e.body is not null and not d.test
      order by d.id limit ${BATCH}
    `.execute(queryBuilderOf(database));
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < BATCH) return;
    after = last.id;
  }
}

/**
 * Moves deliveries to the backlog of their webhook, each at the start of its schedule, and writes the audit entry.
 * `check` gets the locked webhook and may throw. Returns the number of deliveries; null if there is no such webhook.
 * Deliveries without payload stay unchanged.
 */
export async function recoverDeliveries(
  database: Database,
  recovery: Recovery,
  check: (webhook: WebhookRow) => void,
): Promise<number | null> {
  const { workspaceId, webhookId, since, statuses, skipped, actor, now } = recovery;
  return await withLockedWebhook(database, { workspaceId, id: webhookId }, async (em, webhook) => {
    check(webhook);
    const count =
      (await restartSchedules(
        em,
        recovery,
        sql`d.status = any(${[...statuses]}::text[]) and d.created_at >= ${since.toISOString()}::timestamptz`,
      )) +
      (await restartSchedules(
        em,
        recovery,
        sql`d.status = 'skipped' and d.id = any(${[...skipped]}::uuid[])`,
      ));
    await recordAudit(em, {
      workspaceId,
      actor,
      action: 'webhook.recovered',
      subject: `webhook:${webhookId}`,
      detail: { name: webhook.name, since: since.toISOString(), statuses, skipped: skipped.length, count },
      at: now,
    });
    return count;
  });
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
      and d.created_at >= ${since.toISOString()}::timestamptz
  `.execute(queryBuilderOf(database));
  return rows[0]?.count ?? 0;
}

async function restartSchedules(
  em: EntityManager,
  { webhookId, now }: Recovery,
  which: RawBuilder<unknown>,
): Promise<number> {
  const { numAffectedRows } = await sql`
    update deliveries d
    set status = 'pending', reason = null, in_backlog = true, failures = 0, generation = d.generation + 1,
      retry_started = false, next_attempt_at = null, updated_at = ${now.toISOString()}::timestamptz
    from events e
    where e.seq = d.event_seq and e.body is not null and d.webhook_id = ${webhookId}::uuid and not d.test and ${which}
  `.execute(em.getKysely());
  return Number(numAffectedRows ?? 0n);
}
