import { sql } from 'kysely';
import { LISTENER_RECONNECT_MS, LISTENING_MS } from '../../domain/common/limits.ts';
import type { EntityManager } from '../people/audit.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { CHANNELS } from '../common/notifications.ts';

/**
 * The time until which a webhook certainly has a listener, in ISO 8601. Each heartbeat writes a later time, which also
 * identifies the listener: if the stored time is not the one that it wrote last, another listener has replaced it.
 */
export type Until = string;

const asIso = sql`to_char(listening_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const nextUntil = sql`greatest(
  clock_timestamp() + make_interval(secs => ${sql.lit(LISTENING_MS / 1_000)}),
  listening_until + interval '1 ms'
)`;

/**
 * Makes the caller the listener of a webhook. It replaces any other listener, which is notified over `relay`.
 * Unanswered requests of the previous listener wait again. Returns null if the workspace has no such webhook to listen
 * to.
 */
export async function beginListening(
  database: Database,
  { webhookId, workspaceId }: { webhookId: string; workspaceId: string },
): Promise<Until | null> {
  const become = sql<{ until: Until }>`
    update webhooks set listening_until = ${nextUntil}
    where id = ${webhookId}::uuid and workspace_id = ${workspaceId}::uuid
      and deleted_at is null and listening_until is not null
    returning ${asIso} as until`;
  return await queryBuilderOf(database)
    .transaction()
    .execute(async (transaction) => {
      const [mine] = (await become.execute(transaction)).rows;
      if (!mine) return null;
      // A statement of its own, so that it sees what the previous listener has claimed while the first one waited.
      await sql`
        with waiting as (
          update relayed_requests set taken_at = null
          where webhook_id = ${webhookId}::uuid and taken_at is not null and answer is null
        )
        select pg_notify(${CHANNELS.relay}, ${`${webhookId} ${mine.until}`})
      `.execute(transaction);
      return mine.until;
    });
}

/** Records a heartbeat of the listener. `gone`: the webhook was deleted. `replaced`: another listener is connected. */
export async function renewListening(
  database: Database,
  { webhookId, until }: { webhookId: string; until: Until },
): Promise<{ until: Until } | 'replaced' | 'gone'> {
  const { rows } = await sql<{ until: Until }>`
    update webhooks set listening_until = ${nextUntil}
    where id = ${webhookId}::uuid and listening_until = ${until}::timestamptz and deleted_at is null
    returning ${asIso} as until
  `.execute(queryBuilderOf(database));
  if (rows[0]) return rows[0];
  const { rows: there } = await sql`
    select 1 from webhooks where id = ${webhookId}::uuid and deleted_at is null
  `.execute(queryBuilderOf(database));
  return there.length > 0 ? 'replaced' : 'gone';
}

/**
 * Ends listening after a disconnect. Requests wait only for {@link LISTENER_RECONNECT_MS}, unless another listener
 * connects.
 */
export async function stopListening(
  database: Database,
  { webhookId, until }: { webhookId: string; until: Until },
): Promise<void> {
  await sql`
    update webhooks set listening_until = least(
      listening_until, clock_timestamp() + make_interval(secs => ${sql.lit(LISTENER_RECONNECT_MS / 1_000)})
    )
    where id = ${webhookId}::uuid and listening_until = ${until}::timestamptz
  `.execute(queryBuilderOf(database));
}

/** Replaces the time of a heartbeat if the webhook is deleted. */
export const GONE = 'gone';

/** Notifies a webhook's listener, in a transaction, that the webhook is deleted. */
export async function notifyListenerOfEnd(em: EntityManager, webhookId: string): Promise<void> {
  await sql`select pg_notify(${CHANNELS.relay}, ${`${webhookId} ${GONE}`})`.execute(em.getKysely());
}

/** Returns webhooks for listeners without a listener since `before`. */
export async function findAbandonedWebhooks(
  database: Database,
  before: Date,
  limit: number,
): Promise<{ id: string; workspaceId: string }[]> {
  const { rows } = await sql<{ id: string; workspaceId: string }>`
    select id, workspace_id as "workspaceId" from webhooks
    where listening_until < ${before} and deleted_at is null
    order by listening_until limit ${limit}
  `.execute(queryBuilderOf(database));
  return rows;
}
