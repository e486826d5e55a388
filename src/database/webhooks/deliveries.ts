import type { InferEntity } from '@mikro-orm/core';
import { sql, type RawBuilder } from 'kysely';
import type { DeliveryStatus } from '../../domain/webhooks/delivery.ts';
import { MAX_WORDS_LENGTH } from '../../domain/webhooks/delivery-view.ts';
import type { EventKind } from '../../domain/webhooks/event-kinds.ts';
import { derivedUuid } from '../common/ids.ts';
import { statements, type Database } from '../database.ts';
import { Delivery, DeliveryAttempt, WorkspaceEvent } from './entities.ts';
import { notifyChanged, notifyDeliveryChanged, NOTIFIED } from './watched-webhooks.ts';

export type DeliveryRow = InferEntity<typeof Delivery>;
export type AttemptRow = InferEntity<typeof DeliveryAttempt>;

/** Which deliveries of a webhook a list holds. */
export type DeliveryFilter = {
  workspaceId: string;
  webhookId: string;
  statuses?: readonly DeliveryStatus[] | undefined;
  events?: readonly EventKind[] | undefined;
  createdAfter?: Date | undefined;
  createdBefore?: Date | undefined;
  /** Words that the event must have, or their beginnings; or the delivery's id. */
  text?: string | undefined;
  /** The id of the last row of the page before. */
  cursor?: string | undefined;
  limit: number;
};

/** A page of a webhook's deliveries, those of the newest events first. */
export async function listDeliveries(database: Database, filter: DeliveryFilter): Promise<DeliveryRow[]> {
  const matching =
    filter.text === undefined ? null : await matchingEvents(database, filter.workspaceId, filter.text);
  const { rows } = await deliveriesStatement(filter, matching).execute(statements(database));
  const em = database.em.fork();
  return rows.map((row) => em.map(Delivery, row as object));
}

/** The `seq` of all events that have the words of a search; `'many'` where they are too many to name. */
export type MatchingEvents = readonly string[] | 'many';

const MAX_NAMED = 20_000;

/** Finds the events first, by the index of their words: how many deliveries have a word can't be estimated well. */
export async function matchingEvents(
  database: Database,
  workspaceId: string,
  text: string,
): Promise<MatchingEvents> {
  const { rows } = await sql<{ seq: string }>`
    with matching as materialized (
      select seq from events where search @@ ${searchFor(text)} and workspace_id = ${workspaceId}::uuid
    ) select seq from matching limit ${MAX_NAMED + 1}
  `.execute(statements(database));
  return rows.length > MAX_NAMED ? 'many' : rows.map(({ seq }) => seq);
}

/**
 * The statement of a page. Each status or kind has a query of its own, since an index gives the newest of one, and
 * not of several.
 */
export function deliveriesStatement(
  filter: DeliveryFilter,
  matching: MatchingEvents | null,
): RawBuilder<Record<string, unknown>> {
  const { webhookId, limit } = filter;
  const { branches, rest } = branchesOf(filter);
  const conditions = sql.join(
    [...rest, ...spanConditions(filter), ...textConditions(filter, matching)],
    sql` and `,
  );
  const queries = branches.map(
    (branch) => sql`(
      select d.* from deliveries d
      where d.webhook_id = ${webhookId}::uuid and ${branch} and ${conditions}
      order by d.id desc limit ${limit}
    )`,
  );
  return sql`select * from (${sql.join(queries, sql` union all `)}) found order by id desc limit ${limit}`;
}

/** What splits the statement, and what each part has to look at. Nearly all deliveries have succeeded. */
function branchesOf({ statuses, events }: DeliveryFilter) {
  const byStatus = [...new Set(statuses)].map((status) => sql`d.status = ${sql.lit(status)}`);
  const byKind = [...new Set(events)].map((event) => sql`d.event = ${sql.lit(event)}`);
  const either = (conditions: RawBuilder<unknown>[]) =>
    conditions.length === 0 ? [sql`true`] : [sql`(${sql.join(conditions, sql` or `)})`];
  return statuses && !(events && statuses.includes('succeeded'))
    ? { branches: byStatus, rest: either(byKind) }
    : { branches: events ? byKind : [sql`true`], rest: either(byStatus) };
}

/** How much later than its event's arrival, by which ids are in order, a delivery is made at most. */
const LATEST_MS = 48 * 3_600_000;

function spanConditions({ createdAfter, createdBefore, cursor }: DeliveryFilter): RawBuilder<unknown>[] {
  const all = [];
  if (cursor) all.push(sql`d.id < ${cursor}::uuid`);
  if (createdAfter) {
    const earliest = new Date(Math.max(0, createdAfter.getTime() - LATEST_MS));
    all.push(
      sql`d.created_at >= ${createdAfter.toISOString()}::timestamptz and d.id >= ${idAt(earliest)}::uuid`,
    );
  }
  if (createdBefore) {
    all.push(
      sql`d.created_at < ${createdBefore.toISOString()}::timestamptz and d.id < ${idAt(createdBefore)}::uuid`,
    );
  }
  return all;
}

/** Ids begin with the time of their event's arrival; this one is before all of that millisecond. */
function idAt(time: Date): string {
  return `${derivedUuid(time, '').slice(0, 13)}-0000-0000-000000000000`;
}

const UUID_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function textConditions(
  { text = '' }: DeliveryFilter,
  matching: MatchingEvents | null,
): RawBuilder<unknown>[] {
  if (matching === null) return [];
  // As a value of its own the look-up stays one, row by row, and the newest are found without all the others.
  const found =
    matching === 'many'
      ? sql`(select e.search @@ ${searchFor(text)} from events e where e.seq = d.event_seq)`
      : sql`d.event_seq = any(${matching}::bigint[])`;
  const id = text.trim();
  return [UUID_FORM.test(id) ? sql`(d.id = ${id}::uuid or ${found})` : found];
}

/**
 * All words of a text, each as the beginning of one, in the form of `to_tsquery`. Between quotes nothing means
 * anything but quotes and backslashes, which words are split at.
 */
function searchFor(text: string): RawBuilder<unknown> {
  const words = text.split(/[\s'\\]+/).filter((word) => word !== '');
  return sql`to_tsquery('simple', ${words.map((word) => `'${word}':*`).join(' & ')})`;
}

/** One delivery of a workspace, or null. */
export async function findDelivery(
  database: Database,
  which: { workspaceId: string; id: string },
): Promise<DeliveryRow | null> {
  return await database.em.fork().findOne(Delivery, { workspace_id: which.workspaceId, id: which.id });
}

/** All attempts of a delivery, oldest first. */
export async function attemptsOf(database: Database, deliveryId: string): Promise<AttemptRow[]> {
  return await database.em
    .fork()
    .find(DeliveryAttempt, { delivery_id: deliveryId }, { orderBy: { number: 'asc' } });
}

/** What the events of these deliveries are searched by, by their `seq`, cut to what a list shows. */
export async function wordsOfEvents(
  database: Database,
  deliveries: readonly Pick<DeliveryRow, 'event_seq'>[],
): Promise<Map<number, string>> {
  const seqs = deliveries.map(({ event_seq }) => String(event_seq));
  const { rows } = await sql<{ seq: string; words: string }>`
    select seq, left(words, ${MAX_WORDS_LENGTH}) as words from events where seq = any(${seqs}::bigint[])
  `.execute(statements(database));
  return new Map(rows.map(({ seq, words }) => [Number(seq), words]));
}

/** The event of a delivery. `body` is the payload, as it was or is to be sent; null where it is no longer kept. */
export type EventOfDelivery = { body: string | null; words: string; timestamp: Date; received_at: Date };

/** The event of a delivery; null where it is no longer kept. */
export async function eventOf(
  database: Database,
  delivery: Pick<DeliveryRow, 'event_seq'>,
): Promise<EventOfDelivery | null> {
  const event = await database.em
    .fork()
    .findOne(
      WorkspaceEvent,
      { seq: delivery.event_seq },
      { fields: ['body', 'words', 'timestamp', 'received_at'] },
    );
  if (!event) return null;
  const { body, words, timestamp, received_at } = event;
  return { body: body ?? null, words, timestamp, received_at };
}

/** The payload of a delivery, as it was or is to be sent; null where it is no longer kept. */
export async function bodyOf(
  database: Database,
  delivery: Pick<DeliveryRow, 'event_seq'>,
): Promise<string | null> {
  const event = await database.em
    .fork()
    .findOne(WorkspaceEvent, { seq: delivery.event_seq }, { fields: ['body'] });
  return event?.body ?? null;
}

/** Shows when an attempt by hand is due, where the delivery has no other one coming and none was made since. */
export async function recordPlannedAttempt(
  database: Database,
  delivery: Pick<DeliveryRow, 'id' | 'webhook_id' | 'attempts_count'>,
  at: Date,
): Promise<void> {
  const { id, attempts_count } = delivery;
  await database.em
    .fork()
    .nativeUpdate(Delivery, { id, attempts_count, next_attempt_at: null }, { next_attempt_at: at });
  await notifyDeliveryChanged(database, delivery.webhook_id, id);
}

/** Stores a delivery of a test event, which no schedule takes up. */
export async function insertTestDelivery(
  database: Database,
  test: {
    id: string;
    workspaceId: string;
    webhookId: string;
    eventSeq: number;
    eventId: string;
    event: EventKind;
    now: Date;
  },
): Promise<void> {
  await database.em.fork().insert(Delivery, {
    id: test.id,
    workspace_id: test.workspaceId,
    webhook_id: test.webhookId,
    event_seq: test.eventSeq,
    event_id: test.eventId,
    event: test.event,
    status: 'pending',
    test: true,
    reason: null,
    generation: 0,
    in_backlog: false,
    failures: 0,
    attempts_count: 0,
    response_status: null,
    failure: null,
    response_ms: null,
    next_attempt_at: null,
    retry_started: false,
    created_at: test.now,
    updated_at: test.now,
  });
  await notifyDeliveryChanged(database, test.webhookId, test.id);
}

/** Ends a test delivery that was not attempted. */
export async function cancelTestDelivery(
  database: Database,
  id: string,
  reason: string,
  now: Date,
): Promise<void> {
  await sql`
    with aside as (
      update deliveries set status = 'cancelled', reason = ${reason}, updated_at = ${now}::timestamptz
      where id = ${id}::uuid and status = 'pending'
      returning id, webhook_id
    ), ${notifyChanged('aside')}
    select ${NOTIFIED} from aside
  `.execute(statements(database));
}
