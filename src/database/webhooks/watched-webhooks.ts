import { sql, type RawBuilder } from 'kysely';
import type { DeliveryStatus } from '../../domain/webhooks/delivery.ts';
import { MAX_READ_WORDS_LENGTH, type StoredDelivery } from '../../domain/webhooks/delivery-view.ts';
import type { EventKind } from '../../domain/webhooks/event-kinds.ts';
import type { EntityManager } from '../people/audit.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { CHANNELS } from '../common/notifications.ts';
import { runPrepared } from '../common/prepared.ts';

/*
 * Webhooks with a client in their room on the live channel. Only their deliveries are notified: thousands of
 * notifications per second, in the transactions that write deliveries, would be too expensive if nobody is watching.
 */

/** Replaces ids in a message: the webhook itself changed, or more deliveries than a message can list. */
export const MANY_CHANGED = '*';
/** Ids in one message. The server accepts 8,000 bytes. */
const MAX_NAMED = 100;
/** How long a webhook counts as watched, in milliseconds. */
export const WATCHED_MS = 90_000;

/** Marks these webhooks as watched for {@link WATCHED_MS}, and deletes old marks. */
export async function markWatched(database: Database, ids: readonly string[]): Promise<void> {
  // In a fixed order, and without waiting for old marks, so that gateways that mark the same webhooks at once do not deadlock.
  const statement = sql`
    with past as (
      delete from watched_webhooks where webhook_id in (
        select webhook_id from watched_webhooks where until < now() - interval '1 hour' for update skip locked)
    )
    insert into watched_webhooks (webhook_id, until)
    select id, clock_timestamp() + make_interval(secs => ${WATCHED_MS / 1_000}::double precision)
    from unnest(${ids.toSorted()}::uuid[]) as id
    on conflict (webhook_id) do update set until = greatest(watched_webhooks.until, excluded.until)
  `.compile(queryBuilderOf(database));
  await runPrepared(database, statement);
}

/**
 * Returns the common table expression `notified`, which notifies of the deliveries in `changed`, another one with `id` and
 * `webhook_id`. PostgreSQL evaluates it only if the statement's result contains {@link NOTIFIED}.
 */
export function notificationCte(changed: 'done' | 'stored' | 'aside'): RawBuilder<unknown> {
  return sql.raw(`notified as (
      select pg_notify('${CHANNELS.deliveries}', changed.webhook_id || ' ' || case
        when count(*) > ${MAX_NAMED} then '${MANY_CHANGED}' else string_agg(changed.id::text, ',') end)
      from ${changed} changed join watched_webhooks watched
        on watched.webhook_id = changed.webhook_id and watched.until > now()
      group by changed.webhook_id
    )`);
}

/** Column that makes the statement send the notifications. */
export const NOTIFIED = sql.raw('(select count(*) from notified)');

/** Notifies in a transaction that a webhook, or many of its deliveries, changed. */
export async function notifyWebhookChanged(em: EntityManager, webhookId: string): Promise<void> {
  await sql`
    select pg_notify(${CHANNELS.deliveries}, webhook_id || ${` ${MANY_CHANGED}`}::text) from watched_webhooks
    where webhook_id = ${webhookId}::uuid and until > now()
  `.execute(em.getKysely());
}

/** Notifies of one delivery that a separate statement changed. */
export async function notifyDeliveryChanged(
  database: Database,
  webhookId: string,
  id: string,
): Promise<void> {
  const statement = sql`
    select pg_notify(${CHANNELS.deliveries}, webhook_id || ' ' || ${id}::text) from watched_webhooks
    where webhook_id = ${webhookId}::uuid and until > now()
  `.compile(queryBuilderOf(database));
  await runPrepared(database, statement);
}

type Row = Omit<StoredDelivery, 'next_attempt_at' | 'created_at'> & {
  event: EventKind;
  status: DeliveryStatus;
  words: string | null;
  next_attempt_at: string | null;
  created_at: string;
};

/** Returns the current state of these deliveries, of any webhooks, the oldest first, with their search words. */
export async function readDeliveries(
  database: Database,
  ids: readonly string[],
): Promise<(StoredDelivery & { words: string | null })[]> {
  const statement = sql<Row>`
    select d.id, d.webhook_id, d.event_id, d.event, d.status, d.test, d.response_status, d.failure, d.response_ms,
      d.attempts_count, d.next_attempt_at, d.reason, d.created_at, left(e.words, ${MAX_READ_WORDS_LENGTH}) as words
    from deliveries d left join events e on e.seq = d.event_seq
    where d.id = any(${[...ids]}::uuid[]) order by d.id
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  return rows.map((row) => ({
    ...row,
    next_attempt_at: row.next_attempt_at === null ? null : new Date(row.next_attempt_at),
    created_at: new Date(row.created_at),
  }));
}

/** Returns the ids of the newest deliveries of a webhook; with `since`, only those of them that changed since. */
export async function listNewestDeliveries(
  database: Database,
  webhookId: string,
  { limit, since }: { limit: number; since: Date | null },
): Promise<string[]> {
  const statement = sql<{ id: string }>`
    select id from (
      select id, updated_at from deliveries where webhook_id = ${webhookId}::uuid order by id desc limit ${limit}
    ) newest where ${since?.toISOString() ?? null}::timestamptz is null or updated_at >= ${since?.toISOString() ?? null}::timestamptz
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  return rows.map(({ id }) => id);
}
