import { sql } from 'kysely';
import type { EventKind } from '../../domain/webhooks/event-kinds.ts';
import { recordAudit, type EntityManager } from '../people/audit.ts';
import { statements, type Database } from '../database.ts';
import { withLockedWebhook, type WebhookRow } from './webhooks.ts';

/** Which deliveries of a webhook begin anew, and who wants it. */
export type Recovery = {
  workspaceId: string;
  webhookId: string;
  since: Date;
  /** Of these, all made since. */
  statuses: readonly ('held' | 'failed')[];
  /** Ids of skipped ones. */
  skipped: readonly string[];
  actor: string;
  now: Date;
};

/** A delivery that was skipped, with the payload that tells whether it is wanted now. */
export type SkippedDelivery = { id: string; event: EventKind; body: string };

const BATCH = 500;

/** Skipped deliveries of a webhook made since a time whose payload is still kept, in batches, oldest first. */
export async function* skippedDeliveries(
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
    `.execute(statements(database));
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < BATCH) return;
    after = last.id;
  }
}

/**
 * Puts deliveries into the backlog of their webhook, each at the beginning of its schedule, and writes the audit
 * entry. `check` sees the webhook, locked, and may throw. Answers how many; null where there is no such webhook.
 * Deliveries whose payload is no longer kept stay as they are.
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
      (await restartSchedules(em, recovery, 'd.status = any(?::text[]) and d.created_at >= ?', [
        arrayOf(statuses),
        since,
      ])) +
      (await restartSchedules(em, recovery, "d.status = 'skipped' and d.id = any(?::uuid[])", [
        arrayOf(skipped),
      ]));
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

/** How many of these statuses `recoverDeliveries` would have begin anew; the skipped ones are the caller's. */
export async function countRecoverable(
  database: Database,
  { webhookId, since, statuses }: Pick<Recovery, 'webhookId' | 'since' | 'statuses'>,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from deliveries d join events e on e.seq = d.event_seq
    where e.body is not null and d.webhook_id = ${webhookId}::uuid and not d.test
      and d.status <> 'succeeded' and d.status = any(${[...statuses]}::text[])
      and d.created_at >= ${since.toISOString()}::timestamptz
  `.execute(statements(database));
  return rows[0]?.count ?? 0;
}

async function restartSchedules(
  em: EntityManager,
  { webhookId, now }: Recovery,
  which: string,
  values: unknown[],
): Promise<number> {
  const { affectedRows } = await em.execute<{ affectedRows: number }>(
    `update deliveries d
     set status = 'pending', reason = null, in_backlog = true, failures = 0, generation = d.generation + 1,
       retry_started = false, next_attempt_at = null, updated_at = ?
     from events e
     where e.seq = d.event_seq and e.body is not null and d.webhook_id = ? and not d.test and ${which}`,
    [now, webhookId, ...values],
    'run',
  );
  return affectedRows;
}

/** PostgreSQL's text of an array of plain words. */
function arrayOf(words: readonly string[]): string {
  return `{${words.join(',')}}`;
}
