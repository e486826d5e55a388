import type { InferEntity } from '@mikro-orm/core';
import { sql, type RawBuilder } from 'kysely';
import type { DeliveryStatus } from '../../domain/webhooks/delivery.ts';
import { MAX_READ_WORDS_LENGTH } from '../../domain/webhooks/delivery-view.ts';
import { EVENT_KINDS, type EventKind } from '../../domain/webhooks/event-kinds.ts';
import { isFoundInKind } from '../../domain/webhooks/event-payload.ts';
import { MAX_LISTED_ATTEMPTS } from '../../domain/common/limits.ts';
import { lowestIdAt, lowestIdSince } from '../common/ids.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { Delivery, DeliveryAttempt, WorkspaceEvent } from './entities.ts';
import { addScheduled } from './scheduled-retries.ts';
import { notificationCte, notifyDeliveryChanged, NOTIFIED } from './watched-webhooks.ts';

/** A delivery, with the time of its scheduled manual retry. */
export type DeliveryRow = InferEntity<typeof Delivery> & { scheduled_at: Date | null };
export type AttemptRow = InferEntity<typeof DeliveryAttempt>;

/** Filter of a webhook's deliveries. */
export type DeliveryFilter = {
  workspaceId: string;
  webhookId: string;
  statuses?: readonly DeliveryStatus[] | undefined;
  events?: readonly EventKind[] | undefined;
  createdAfter?: Date | undefined;
  createdBefore?: Date | undefined;
  /** Words of the event and its id, or their beginnings; or the delivery's id. */
  text?: string | undefined;
  /** The id of the last row of the previous page. */
  cursor?: string | undefined;
  limit: number;
};

/** Returns a page of a webhook's deliveries, those of the newest events first. */
export async function listDeliveries(database: Database, filter: DeliveryFilter): Promise<DeliveryRow[]> {
  const matching =
    filter.text === undefined ? null : await findMatchingEvents(database, filter.workspaceId, filter.text);
  const { rows } = await buildDeliveriesQuery(filter, matching).execute(queryBuilderOf(database));
  const em = database.em.fork();
  const found = rows.map((row) => em.map(Delivery, row as object));
  return await addScheduled(database, found);
}

/**
 * The events that match a search: all events of some kinds, and events of other kinds by their `seq`; `'many'` if there are
 * too many to list.
 */
export type MatchingEvents = { kinds: readonly EventKind[]; seqs: readonly string[] } | 'many';

const MAX_NAMED = 20_000;

/**
 * Finds the matching events by the index of their search words, and by that of their ids: one word can be the beginning
 * of an id, several words can contain a complete one. A separate query, since PostgreSQL cannot estimate well how many
 * deliveries match.
 */
export async function findMatchingEvents(
  database: Database,
  workspaceId: string,
  text: string,
): Promise<MatchingEvents> {
  const words = wordsIn(text);
  const [word = ''] = words;
  const byId =
    words.length === 1
      ? sql`id >= ${word} and id < ${`${word}${HIGHEST_CHARACTER}`}`
      : sql`id = any(${words}::text[]) and ${matches('events', words)}`;
  const kindsByRest = Map.groupBy(EVENT_KINDS, (kind) =>
    words.filter((one) => !isFoundInKind(kind, one)).join(' '),
  );
  const kinds = kindsByRest.get('') ?? [];
  kindsByRest.delete('');
  const byWords = [...kindsByRest].map(
    ([rest, of]) => sql`(event_words(words) @@ ${searchFor(wordsIn(rest))} and event = any(${of}::text[]))`,
  );
  const { rows } = await sql<{ seq: string }>`
    with matching as materialized (
      select seq from events where ${either(byWords)} and workspace_id = ${workspaceId}::uuid
    ), by_id as materialized (
      select seq from events where workspace_id = ${workspaceId}::uuid and ${byId} limit ${MAX_NAMED + 1}
    ) select seq from matching union all select seq from by_id limit ${MAX_NAMED + 1}
  `.execute(queryBuilderOf(database));
  return rows.length > MAX_NAMED ? 'many' : { kinds, seqs: rows.map(({ seq }) => seq) };
}

/**
 * Returns the statement of a page. Each status or kind has its own query, since an index finds the newest rows of one
 * value only.
 */
export function buildDeliveriesQuery(
  filter: DeliveryFilter,
  matching: MatchingEvents | null,
): RawBuilder<Record<string, unknown>> {
  const { webhookId, limit } = filter;
  const { branches, rest } = branchesOf(filter, matching);
  const conditions = sql.join([sql`true`, ...rest, ...spanConditions(filter)], sql` and `);
  const queries = branches.map(
    (branch) => sql`(
      select d.* from deliveries d
      where d.webhook_id = ${webhookId}::uuid and ${branch} and ${conditions}
      order by d.id desc limit ${limit}
    )`,
  );
  return sql`select * from (${sql.join(queries, sql` union all `)}) found order by id desc limit ${limit}`;
}

/**
 * Returns the conditions that split the statement, no two of which hold for one delivery, and those of all parts. Nearly all
 * deliveries have succeeded.
 */
function branchesOf(filter: DeliveryFilter, matching: MatchingEvents | null) {
  const { statuses, events } = filter;
  const conditions = {
    status: statuses && [...new Set(statuses)].map((status) => sql`d.status = ${sql.lit(status)}`),
    kind: events && [...new Set(events)].map((event) => sql`d.event = ${sql.lit(event)}`),
    text: matching === null ? undefined : textBranches(filter, matching),
  };
  const isRare = statuses !== undefined && !statuses.includes('succeeded');
  const isListed = matching !== null && matching !== 'many';
  const split = isRare ? 'status' : isListed ? 'text' : events ? 'kind' : statuses ? 'status' : null;
  const rest = Object.entries(conditions).flatMap(([by, of]) => (of && by !== split ? [either(of)] : []));
  return { branches: (split && conditions[split]) ?? [sql`true`], rest };
}

/** Returns a condition that holds if one of these does. */
function either(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return conditions.length === 0 ? sql`false` : sql`(${sql.join(conditions, sql` or `)})`;
}

/**
 * Longest time between the arrival of an event, which determines the order of ids, and the creation of its delivery, in
 * milliseconds.
 */
const LATEST_MS = 48 * 3_600_000;

/** Returns the condition that a delivery `d` was created at a time or later. Its ids save reading all older deliveries. */
export function createdSince(time: Date): RawBuilder<unknown> {
  const lowest = lowestIdSince(time, LATEST_MS);
  return sql`d.created_at >= ${time.toISOString()}::timestamptz and d.id >= ${lowest}::uuid`;
}

function spanConditions({ createdAfter, createdBefore, cursor }: DeliveryFilter): RawBuilder<unknown>[] {
  const all = [];
  if (cursor) all.push(sql`d.id < ${cursor}::uuid`);
  if (createdAfter) {
    all.push(createdSince(createdAfter));
  }
  if (createdBefore) {
    all.push(
      sql`d.created_at < ${createdBefore.toISOString()}::timestamptz and d.id < ${lowestIdAt(createdBefore)}::uuid`,
    );
  }
  return all;
}

const UUID_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Returns conditions of which one holds for each delivery that a search finds: one for each kind, and one for the others. */
function textBranches(
  { text = '', events = EVENT_KINDS }: DeliveryFilter,
  matching: MatchingEvents,
): RawBuilder<unknown>[] {
  const id = text.trim();
  const byId = UUID_FORM.test(id) ? [sql`d.id = ${id}::uuid`] : [];
  // As a subquery for each row, the search does not read all other rows before the newest are found.
  if (matching === 'many') {
    return [...byId, sql`(select ${matches('e', wordsIn(text))} from events e where e.seq = d.event_seq)`];
  }
  const { kinds, seqs } = matching;
  const listed = either([...byId, sql`d.event_seq = any(${seqs}::bigint[])`]);
  return [
    ...kinds.filter((kind) => events.includes(kind)).map((kind) => sql`d.event = ${sql.lit(kind)}`),
    kinds.length === 0 ? listed : sql`(${listed} and d.event <> all(${kinds}::text[]))`,
  ];
}

/** Follows all characters of ids, which are ASCII. */
const HIGHEST_CHARACTER = '\u{7f}';

function wordsIn(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

/** Returns whether these words are in the words, the id and the kind of an event. `events`: the name of its table. */
function matches(events: 'e' | 'events', words: readonly string[]): RawBuilder<unknown> {
  const column = (name: string) => sql.ref(`${events}.${name}`);
  const parts = sql`regexp_replace(${column('event')}, '[^a-z]', ' ', 'g')`;
  return sql`event_words(concat_ws(' ', ${column('words')}, ${column('id')}, ${column('event')}, ${parts}))
    @@ ${searchFor(words)}`;
}

/**
 * Converts words to a query for all of them, each as the beginning of a word of `event_words`. Only quotes and backslashes
 * are special between quotes.
 */
function searchFor(words: readonly string[]): RawBuilder<unknown> {
  const query = words.map((word) => `'${word.replaceAll(/['\\]/g, '$&$&')}':*`).join(' & ');
  return sql`lower(${query})::tsquery`;
}

/** Returns a delivery of a workspace, or null. */
export async function findDelivery(
  database: Database,
  which: { workspaceId: string; id: string },
): Promise<DeliveryRow | null> {
  const row = await database.em.fork().findOne(Delivery, { workspace_id: which.workspaceId, id: which.id });
  return row && ((await addScheduled(database, [row]))[0] ?? null);
}

/** Returns the newest {@link MAX_LISTED_ATTEMPTS} attempts of a delivery, oldest first. */
export async function listAttempts(database: Database, deliveryId: string): Promise<AttemptRow[]> {
  const newest = await database.em
    .fork()
    .find(
      DeliveryAttempt,
      { delivery_id: deliveryId },
      { orderBy: { number: 'desc' }, limit: MAX_LISTED_ATTEMPTS },
    );
  return newest.toReversed();
}

/** Returns the search words of the events of these deliveries, by `seq`, cut to the length for lists. */
export async function readSearchWords(
  database: Database,
  deliveries: readonly Pick<DeliveryRow, 'event_seq'>[],
): Promise<Map<number, string>> {
  const seqs = deliveries.map(({ event_seq }) => String(event_seq));
  const { rows } = await sql<{ seq: string; words: string }>`
    select seq, left(words, ${MAX_READ_WORDS_LENGTH}) as words from events where seq = any(${seqs}::bigint[])
  `.execute(queryBuilderOf(database));
  return new Map(rows.map(({ seq, words }) => [Number(seq), words]));
}

/** The event of a delivery. `body` is the payload that is sent; null if it was deleted. */
export type EventOfDelivery = { body: string | null; words: string; timestamp: Date; received_at: Date };

/** Returns the event of a delivery; null if it was deleted. */
export async function findEvent(
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

/** Returns the payload of a delivery; null if it was deleted. */
export async function findPayload(
  database: Database,
  delivery: Pick<DeliveryRow, 'event_seq'>,
): Promise<string | null> {
  const event = await database.em
    .fork()
    .findOne(WorkspaceEvent, { seq: delivery.event_seq }, { fields: ['body'] });
  return event?.body ?? null;
}

/** Stores the delivery of a test event. It has no schedule. */
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

/** The reason of a test delivery that was cancelled. */
const TEST_NOT_SENT = 'the test was not sent in time';

/** Returns the id of the event of a test delivery. */
export function testEventId(deliveryId: string): string {
  return `evt_test_${deliveryId}`;
}

/** Cancels a test delivery that was not attempted. */
export async function cancelTestDelivery(database: Database, id: string, now: Date): Promise<void> {
  await cancelTests(database, sql`select ${id}::uuid as id`, now);
}

/**
 * Cancels the test deliveries that were stored before a time and not attempted: the process that stored them has died.
 * Finds them by the ids of their events, which contain the times of their drafts. Returns how many.
 */
export async function cancelForgottenTests(
  database: Database,
  { draftedAfter, storedBefore, now }: { draftedAfter: Date; storedBefore: Date; now: Date },
): Promise<number> {
  return await cancelTests(
    database,
    sql`
      select d.id from workspaces w
      cross join lateral (
        select seq from events
        where workspace_id = w.id and id > ${testEventId(lowestIdAt(draftedAfter))}
          and id < ${testEventId(lowestIdAt(now))} and test
      ) event
      join deliveries d on d.event_seq = event.seq
      where d.test and d.status = 'pending' and d.created_at < ${storedBefore.toISOString()}::timestamptz`,
    now,
  );
}

async function cancelTests(database: Database, ids: RawBuilder<unknown>, now: Date): Promise<number> {
  const { rows } = await sql`
    with aside as (
      update deliveries set status = 'cancelled', reason = ${TEST_NOT_SENT},
        updated_at = ${now.toISOString()}::timestamptz
      where id in (${ids}) and status = 'pending'
      returning id, webhook_id
    ), ${notificationCte('aside')}
    select id, ${NOTIFIED} from aside
  `.execute(queryBuilderOf(database));
  return rows.length;
}
