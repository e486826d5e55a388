import { sql } from 'kysely';
import type { DeliveryProgress } from '../../domain/webhooks/attempt-conditions.ts';
import { chunksOf } from '../../domain/common/chunks.ts';
import type { EventKind } from '../../domain/webhooks/event-kinds.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { PAYLOAD_BYTES } from '../common/batches.ts';
import { readTime } from '../common/times.ts';
import { runPrepared } from '../common/prepared.ts';
import { notificationCte, NOTIFIED } from './watched-webhooks.ts';

/** An event of a group, with the data for deliveries. */
export type GroupEvent = {
  seq: number;
  workspace_id: string;
  id: string;
  event: EventKind;
  timestamp: Date;
  body: string;
  received_at: Date;
  /** The trace of the event's request; null if none was recorded. */
  traceparent: string | null;
};

/** Events to dispatch. `isRepeat`: some of them may have been dispatched before, so that their deliveries may exist. */
export type ClaimedEvents = { events: GroupEvent[]; isRepeat: boolean };

/**
 * Claims groups for a workflow and returns their events in the order of arrival, without those whose payload is past its
 * retention. Omits a group that another workflow has claimed: it was started twice, and the other workflow sends it. Also
 * omits a group that is done: its events may be in another group by now, which a statement that waited for the row would not
 * see. A group that was started long ago may have been dispatched by a previous version, which does not claim groups.
 */
export async function claimGroups(
  database: Database,
  groupIds: readonly string[],
  workflowId: string,
): Promise<ClaimedEvents> {
  const statement = sql<{
    seq: string;
    workspace_id: string;
    id: string;
    event: EventKind;
    timestamp: string;
    body: string;
    received_at: string;
    traceparent: string | null;
    is_repeat: boolean;
  }>`
    with claimed as (
      update event_groups set started_at = coalesce(started_at, now()), claimed_by = ${workflowId},
        repeats = repeats or claimed_by is not null or coalesce(started_at < now() - interval '10 s', false)
      where id = any(${groupIds}::uuid[]) and done_at is null and coalesce(claimed_by, ${workflowId}) = ${workflowId}
      returning id, repeats
    )
    select seq, workspace_id, id, event, "timestamp", body, received_at, traceparent,
      (select bool_or(repeats) from claimed) as is_repeat
    from events where group_id in (select id from claimed) and body is not null order by seq
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  const events = rows.map((row) => ({
    ...row,
    seq: Number(row.seq),
    timestamp: readTime(row.timestamp),
    received_at: new Date(row.received_at),
  }));
  return { events, isRepeat: rows[0]?.is_repeat ?? false };
}

/** A delivery of a group; `reason` if it is not sent. */
export type PlannedDelivery = {
  id: string;
  workspace_id: string;
  webhook_id: string;
  event_seq: number;
  event_id: string;
  event: EventKind;
  status: 'pending' | 'held' | 'skipped';
  reason: string | null;
};

/**
 * Rows that one statement stores or moves. An event may have hundreds of deliveries, and a dispatch 500 events: a statement with all
 * of them would occupy the process and PostgreSQL for a second.
 */
const ROWS_AT_ONCE = 1_000;

/**
 * Stores deliveries and skips existing ones, in several statements if they are many. Returns the ids of those that wait for their
 * first attempt: at first all `pending` ones, after a crash only those that were not recorded, held or cancelled.
 */
export async function storeDeliveries(
  database: Database,
  planned: readonly PlannedDelivery[],
  now: Date,
): Promise<Set<string>> {
  const waiting = new Set<string>();
  for await (const part of chunksOf(planned, ROWS_AT_ONCE)) {
    for (const id of await storeTogether(database, part, now)) waiting.add(id);
  }
  return waiting;
}

async function storeTogether(
  database: Database,
  planned: readonly PlannedDelivery[],
  now: Date,
): Promise<ReadonlySet<string>> {
  const pending = planned.filter(({ status }) => status === 'pending');
  const statement = sql<{ id: string }>`
    with stored as (
    insert into deliveries
      (id, workspace_id, webhook_id, event_seq, event_id, event, status, reason, created_at, updated_at)
    select id, workspace_id, webhook_id, event_seq, event_id, event, status, reason, ${now}::timestamptz, ${now}::timestamptz
    from json_to_recordset(${JSON.stringify(planned)}::json) as planned
      (id uuid, workspace_id uuid, webhook_id uuid, event_seq bigint, event_id text, event text, status text, reason text)
    order by id
    on conflict (id) do nothing
    returning id, webhook_id
    ), ${notificationCte('stored')}
    select id, ${NOTIFIED} as notified from stored
  `.compile(queryBuilderOf(database));
  const { rows, count } = await runPrepared(database, statement);
  if (count === planned.length) return new Set(pending.map(({ id }) => id));
  const waiting = await findWaiting(
    database,
    pending.map(({ id }) => id),
  );
  const stored = new Set(rows.map(({ id }) => id));
  return new Set(pending.map(({ id }) => id).filter((id) => stored.has(id) || waiting.has(id)));
}

/** Returns the deliveries that still wait for their first attempt outside the backlog. */
export async function findWaiting(database: Database, ids: readonly string[]): Promise<Set<string>> {
  const statement = sql<{ id: string }>`
    select id from deliveries where id = any(${ids}::uuid[]) and status = 'pending' and not in_backlog
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  return new Set(rows.map(({ id }) => id));
}

/** Returns the ids of the stored deliveries of events, by event and webhook as `<seq>:<webhook id>`. Without tests. */
export async function findDeliveryIds(
  database: Database,
  seqs: readonly number[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; event_seq: string; webhook_id: string }>`
    select id, event_seq, webhook_id from deliveries where event_seq = any(${seqs}::bigint[]) and not test
  `.execute(queryBuilderOf(database));
  return new Map(rows.map(({ id, event_seq: seq, webhook_id }) => [`${seq}:${webhook_id}`, id]));
}

/** Returns the deliveries of a workflow's groups that still wait for their first attempt outside the backlog. */
export async function findWaitingOfGroups(
  database: Database,
  groupIds: readonly string[],
  workflowId: string,
): Promise<Set<string>> {
  const statement = sql<{ id: string }>`
    select d.id from event_groups g join events e on e.group_id = g.id join deliveries d on d.event_seq = e.seq
    where g.id = any(${groupIds}::uuid[]) and coalesce(g.claimed_by, ${workflowId}) = ${workflowId} and d.status = 'pending' and not d.in_backlog and not d.test
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  return new Set(rows.map(({ id }) => id));
}

/**
 * Moves deliveries to the backlog of their webhook, in several statements if they are many. Rows are locked in the order of their
 * ids, against deadlocks.
 */
export async function moveToBacklog(database: Database, ids: readonly string[], now: Date): Promise<void> {
  for await (const part of chunksOf(ids.toSorted(), ROWS_AT_ONCE)) {
    const statement = sql`
      with waiting as materialized (
        select id from deliveries where id = any(${part}::uuid[]) and status = 'pending' order by id for no key update
      )
      update deliveries d set in_backlog = true, updated_at = ${now}::timestamptz from waiting where d.id = waiting.id
    `.compile(queryBuilderOf(database));
    await runPrepared(database, statement);
  }
}

/**
 * Cancels, skips or holds deliveries that must not be sent, because their webhook is disabled, inactive or deleted, or
 * their payload is gone. A delivery whose schedule has restarted since it was read stays unchanged. The lookups are lateral, so
 * that they use the index of the ids: a join read every waiting delivery of all webhooks for 200 ids. Rows are locked in the
 * order of their ids, against deadlocks.
 */
export async function markUnsent(
  database: Database,
  deliveries: readonly { id: string; generation: number }[],
  status: 'held' | 'skipped' | 'cancelled',
  reason: string,
  now: Date,
): Promise<void> {
  const ids = deliveries.map(({ id }) => id);
  const generations = deliveries.map(({ generation }) => generation);
  const statement = sql`
    with waiting as materialized (
      select found.id from (
        select * from unnest(${ids}::uuid[], ${generations}::integer[]) as given (id, generation) order by id
      ) as known
      cross join lateral (
        select id from deliveries
        where id = known.id and generation = known.generation and status in ('pending', 'retrying')
        for no key update
      ) as found
    ), aside as (
      update deliveries d
      set status = ${status}, reason = ${reason}, in_backlog = false, next_attempt_at = null,
        generation = d.generation + 1, updated_at = ${now}::timestamptz
      from waiting where d.id = waiting.id
      returning d.id, d.webhook_id
    ), ${notificationCte('aside')}
    select ${NOTIFIED} from aside limit 1
  `.compile(queryBuilderOf(database));
  await runPrepared(database, statement);
}

/** Records that every delivery of these groups has had its first attempt, or waits elsewhere. */
export async function markGroupsDone(
  database: Database,
  groupIds: readonly string[],
  workflowId: string,
  now: Date,
): Promise<void> {
  const statement = sql`
    update event_groups set done_at = ${now}::timestamptz
    where id = any(${groupIds}::uuid[]) and done_at is null and coalesce(claimed_by, ${workflowId}) = ${workflowId}
  `.compile(queryBuilderOf(database));
  await runPrepared(database, statement);
}

/** Returns what decides whether attempts of these deliveries may still be made, by id. */
export async function readProgress(
  database: Database,
  ids: readonly string[],
): Promise<Map<string, DeliveryProgress>> {
  const statement = sql<DeliveryProgress & { id: string }>`
    select id, status, generation, failures, in_backlog, attempts_count from deliveries where id = any(${ids}::uuid[])
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * A delivery with the data of its event for an attempt. `body` is null if its retention is over. Deliveries of one event that are
 * read together share its bytes.
 */
export type DeliveryToSend = DeliveryProgress & {
  id: string;
  webhook_id: string;
  workspace_id: string;
  event: EventKind;
  timestamp: Date;
  body: Buffer | null;
  /** The trace of the event's request; null if none was recorded. */
  traceparent: string | null;
  test: boolean;
  next_attempt_at: Date | null;
  created_at: Date;
  /** When it last changed, for example by a result. */
  updated_at: Date;
};

type RawDelivery = Omit<
  DeliveryToSend,
  'timestamp' | 'body' | 'next_attempt_at' | 'created_at' | 'updated_at'
> & {
  event_seq: string;
  timestamp: string;
  /** Null as well if the row before has the same event. */
  body: string | null;
  next_attempt_at: string | null;
  created_at: string;
  updated_at: string;
};

/** Reads the payload of an event once: it may have a hundred deliveries. For rows in the order of their events. */
const WITH_EVENT = sql.raw(`
  select d.id, d.webhook_id, d.workspace_id, d.event_seq, d.event, e."timestamp", e.traceparent, d.status, d.test, d.generation,
    d.failures, d.in_backlog, d.attempts_count, d.next_attempt_at, d.created_at, d.updated_at,
    case when lag(d.event_seq) over (order by d.event_seq) is distinct from d.event_seq then e.body end as body
  from deliveries d join events e on e.seq = d.event_seq`);

/** Returns these deliveries, or those of them that were stored before a time, in the order of their events. */
export async function readDeliveriesToSend(
  database: Database,
  ids: readonly string[],
  before: Date | null = null,
): Promise<DeliveryToSend[]> {
  const isOld = before === null ? sql`` : sql`and d.created_at < ${before}::timestamptz`;
  const statement = sql<RawDelivery>`${WITH_EVENT} where d.id = any(${ids}::uuid[]) ${isOld}
    order by d.event_seq`.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  return deliveriesOf(rows);
}

/** Returns the next deliveries of a webhook's backlog, oldest first: up to `limit`, with up to {@link PAYLOAD_BYTES}. */
export async function listBacklog(
  database: Database,
  webhookId: string,
  limit: number,
): Promise<DeliveryToSend[]> {
  const statement = sql<RawDelivery>`
    with next as (
      select d.id, d.event_seq, coalesce(octet_length(e.body), 0) as size from deliveries d join events e on e.seq = d.event_seq
      where d.webhook_id = ${webhookId}::uuid and d.in_backlog and d.status = 'pending'
      order by d.event_seq limit ${limit}
    ), counted as (select id, size, sum(size) over (order by event_seq) as total from next)
    ${WITH_EVENT} where d.id = any(array(select id from counted where total <= ${PAYLOAD_BYTES} or total = size))
    order by d.event_seq
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  return deliveriesOf(rows);
}

function deliveriesOf(rows: readonly RawDelivery[]): DeliveryToSend[] {
  let last: { seq: string; body: Buffer | null } | null = null;
  return rows.map(({ event_seq: seq, body, ...row }) => {
    if (last?.seq !== seq) last = { seq, body: body === null ? null : Buffer.from(body) };
    return {
      ...row,
      body: last.body,
      timestamp: readTime(row.timestamp),
      next_attempt_at: row.next_attempt_at === null ? null : new Date(row.next_attempt_at),
      created_at: new Date(row.created_at),
      updated_at: new Date(row.updated_at),
    };
  });
}

/** Records that the workflow of a delivery's retries exists, unless the schedule has restarted since. */
export async function markRetriesStarted(
  database: Database,
  { deliveryId, generation }: { deliveryId: string; generation: number },
): Promise<void> {
  const statement = sql`
    update deliveries set retry_started = true
    where id = ${deliveryId}::uuid and generation = ${generation} and status = 'retrying'
  `.compile(queryBuilderOf(database));
  await runPrepared(database, statement);
}

/**
 * Returns deliveries that wait for a retry since before a time, but whose workflow is not known to exist; oldest first.
 */
export async function listUnstartedRetries(
  database: Database,
  before: Date,
  limit: number,
): Promise<{ id: string; generation: number; due: Date }[]> {
  const { rows } = await sql<{ id: string; generation: number; next_attempt_at: string }>`
    select id, generation, next_attempt_at from deliveries
    where status = 'retrying' and not retry_started and updated_at < ${before}::timestamptz
    order by next_attempt_at limit ${limit}
  `.execute(queryBuilderOf(database));
  return rows.map(({ id, generation, next_attempt_at: due }) => ({ id, generation, due: new Date(due) }));
}

/** A position in a list of overdue work, which is in the order of the due times and then of the ids. */
export type OverduePosition = { due: Date; id: string };

/** A page of overdue work. `after`: the last one of the previous page; null for the first page. */
export type OverduePage = { after: OverduePosition | null; limit: number };

/**
 * Returns deliveries whose retry was due before a time, although its workflow was started; the longest overdue first. Either
 * it waits for a worker or a place, or an operator has ended it.
 */
export async function listOverdueDeliveries(
  database: Database,
  before: Date,
  { after, limit }: OverduePage,
): Promise<{ id: string; generation: number; due: Date }[]> {
  const rest = after
    ? sql`and (next_attempt_at, id) > (${after.due}::timestamptz, ${after.id}::uuid)`
    : sql``;
  const { rows } = await sql<{ id: string; generation: number; next_attempt_at: string }>`
    select id, generation, next_attempt_at from deliveries
    where status = 'retrying' and retry_started and next_attempt_at < ${before}::timestamptz ${rest}
    order by next_attempt_at, id limit ${limit}
  `.execute(queryBuilderOf(database));
  return rows.map(({ id, generation, next_attempt_at: due }) => ({ id, generation, due: new Date(due) }));
}

/** Returns webhooks whose backlog has a delivery that waits since before a time. */
export async function listForgottenBacklogs(
  database: Database,
  before: Date,
  limit: number,
): Promise<string[]> {
  const { rows } = await sql<{ webhook_id: string }>`
    select distinct webhook_id from deliveries
    where in_backlog and status = 'pending' and updated_at < ${before}::timestamptz limit ${limit}
  `.execute(queryBuilderOf(database));
  return rows.map(({ webhook_id: id }) => id);
}
