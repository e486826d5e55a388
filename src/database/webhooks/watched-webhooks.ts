import { sql, type RawBuilder } from 'kysely';
import type { DeliveryStatus } from '../../domain/webhooks/delivery.ts';
import { MAX_WORDS_LENGTH, type StoredDelivery } from '../../domain/webhooks/delivery-view.ts';
import type { EventKind } from '../../domain/webhooks/event-kinds.ts';
import type { EntityManager } from '../people/audit.ts';
import { statements, type Database } from '../database.ts';
import { CHANNELS } from '../common/notifications.ts';
import { runPrepared } from '../common/prepared.ts';

/*
 * Webhooks whose room on the live channel somebody is in. Only for these are changes of deliveries told to listeners:
 * thousands of them in a second, in the transactions that write them, would be too dear for nobody.
 */

/** In the place of ids: the webhook itself, or more of its deliveries than a message names, have changed. */
export const MANY_CHANGED = '*';
/** Ids in one message; the server takes 8,000 bytes. */
const MAX_NAMED = 100;
/** How long a webhook counts as watched after it was said, in milliseconds. */
export const WATCHED_MS = 90_000;

/** Says of these webhooks that they are watched, for {@link WATCHED_MS}; forgets those that are not any more. */
export async function watchWebhooks(database: Database, ids: readonly string[]): Promise<void> {
  // In order, since several gateways may say it of the same ones at once.
  const statement = sql`
    with past as (delete from watched_webhooks where until < now() - interval '1 hour')
    insert into watched_webhooks (webhook_id, until)
    select id, clock_timestamp() + make_interval(secs => ${WATCHED_MS / 1_000}::double precision)
    from unnest(${ids.toSorted()}::uuid[]) as id
    on conflict (webhook_id) do update set until = greatest(watched_webhooks.until, excluded.until)
  `.compile(statements(database));
  await runPrepared(database, statement);
}

/**
 * Part of a statement: a common table `told` that tells of the deliveries in `changed`, a common table with `id` and
 * `webhook_id`. It is worked out only where the statement's result asks for {@link NOTIFIED}.
 */
export function notifyChanged(changed: 'delivery' | 'stored' | 'aside'): RawBuilder<unknown> {
  return sql.raw(`told as (
      select pg_notify('${CHANNELS.deliveries}', changed.webhook_id || ' ' || case
        when count(*) > ${MAX_NAMED} then '${MANY_CHANGED}' else string_agg(changed.id::text, ',') end)
      from ${changed} changed join watched_webhooks watched
        on watched.webhook_id = changed.webhook_id and watched.until > now()
      group by changed.webhook_id
    )`);
}

/** A column that makes the statement tell. */
export const NOTIFIED = sql.raw('(select count(*) from told)');

/** Tells in a transaction that a webhook, or many of its deliveries, have changed. */
export async function notifyWebhookChanged(em: EntityManager, webhookId: string): Promise<void> {
  await em.execute(
    `select pg_notify('${CHANNELS.deliveries}', webhook_id || ' ${MANY_CHANGED}') from watched_webhooks
     where webhook_id = ? and until > now()`,
    [webhookId],
  );
}

/** Tells of one delivery that was changed by a statement of its own. */
export async function notifyDeliveryChanged(
  database: Database,
  webhookId: string,
  id: string,
): Promise<void> {
  const statement = sql`
    select pg_notify(${CHANNELS.deliveries}, webhook_id || ' ' || ${id}::text) from watched_webhooks
    where webhook_id = ${webhookId}::uuid and until > now()
  `.compile(statements(database));
  await runPrepared(database, statement);
}

type Row = Omit<StoredDelivery, 'next_attempt_at' | 'created_at'> & {
  event: EventKind;
  status: DeliveryStatus;
  words: string | null;
  next_attempt_at: string | null;
  created_at: string;
};

/** These deliveries as they are now, of whichever webhooks, the oldest first, with the words of their events. */
export async function deliveriesNow(
  database: Database,
  ids: readonly string[],
): Promise<(StoredDelivery & { words: string | null })[]> {
  const statement = sql<Row>`
    select d.id, d.webhook_id, d.event_id, d.event, d.status, d.test, d.response_status, d.failure, d.response_ms,
      d.attempts_count, d.next_attempt_at, d.reason, d.created_at, left(e.words, ${MAX_WORDS_LENGTH}) as words
    from deliveries d left join events e on e.seq = d.event_seq
    where d.id = any(${[...ids]}::uuid[]) order by d.id
  `.compile(statements(database));
  const { rows } = await runPrepared(database, statement);
  return rows.map((row) => ({
    ...row,
    next_attempt_at: row.next_attempt_at === null ? null : new Date(row.next_attempt_at),
    created_at: new Date(row.created_at),
  }));
}

/** The ids of the newest deliveries of a webhook, and of all that changed since a time among them. */
export async function newestDeliveries(
  database: Database,
  webhookId: string,
  { limit, since }: { limit: number; since: Date | null },
): Promise<string[]> {
  const statement = sql<{ id: string }>`
    select id from (
      select id, updated_at from deliveries where webhook_id = ${webhookId}::uuid order by id desc limit ${limit}
    ) newest where ${since?.toISOString() ?? null}::timestamptz is null or updated_at >= ${since?.toISOString() ?? null}::timestamptz
  `.compile(statements(database));
  const { rows } = await runPrepared(database, statement);
  return rows.map(({ id }) => id);
}
