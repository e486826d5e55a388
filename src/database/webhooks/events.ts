import { sql } from 'kysely';
import type { StoredGroup } from '../../domain/webhooks/dispatch-batches.ts';
import type { EventKind } from '../../domain/webhooks/event-kinds.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { Workspace } from '../people/entities.ts';
import { isDuplicate } from '../common/outage.ts';
import { readTime } from '../common/times.ts';
import { runPrepared } from '../common/prepared.ts';

/** A new event. `hash` is the SHA-256 of its canonical content, hex; `timestamp` is ISO 8601 UTC. */
export type NewEvent = {
  workspaceId: string;
  id: string;
  event: EventKind;
  timestamp: string;
  hash: string;
  /** The payload, as it is to be sent. */
  body: string;
  words: string;
  /** The trace of the event's request; null if none is recorded. */
  traceparent?: string | null;
};

/** Events of one request, and the group that they belong to. */
export type NewRequest = { groupId: string; events: readonly NewEvent[] };

/** Requests that are stored together. No two of their events have the same workspace and id. */
export type NewRequests = { now: Date; requests: readonly NewRequest[] };

/** An event whose id existed already. `isSame`: whether it has the same content. */
export type KnownEvent = { request: number; workspaceId: string; id: string; isSame: boolean };

/** Maximum number of tries to store a group while other processes store the same ids. */
const MAX_TRIES = 10;

/**
 * Stores groups of events in one statement, and returns the ids that existed already. A request that contains an
 * existing id with another content stores nothing. An existing id with the same content is skipped. All other events
 * are stored in the given order. A group without stored events has no row.
 */
export async function insertGroups(database: Database, given: NewRequests): Promise<KnownEvent[]> {
  const statement = groupsStatement(database, given);
  for (let tries = 1; ; tries += 1) {
    try {
      const { rows } = await runPrepared(database, statement);
      return rows;
    } catch (error) {
      // Another process has inserted an id since the statement began. The statement was rolled back, and the next try
      // sees the id.
      if (!isDuplicate(error) || tries === MAX_TRIES) throw error;
    }
  }
}

/**
 * The lookups are lateral with a limit, so that a plan made for an empty table still uses the index. Rows are inserted
 * in the order of their ids, so that two processes with the same ids cannot deadlock. Their `seq` follows the given
 * order nevertheless.
 */
function groupsStatement(database: Database, { now, requests }: NewRequests) {
  const events = requests.flatMap((request) => request.events);
  const requestOfEach = requests.flatMap((request, index) => request.events.map(() => index));
  const groupOfEach = requests.flatMap((request) => request.events.map(() => request.groupId));
  const column = <T>(of: (event: NewEvent) => T): T[] => events.map(of);
  return sql<KnownEvent>`
    with given as materialized (
      select * from unnest(
        ${requestOfEach}::int[], ${groupOfEach}::uuid[], ${column(({ workspaceId }) => workspaceId)}::uuid[],
        ${column(({ id }) => id)}::text[], ${column(({ event }) => event)}::text[],
        ${column(({ timestamp }) => timestamp)}::timestamptz[], ${column(({ hash }) => hash)}::text[],
        ${column(({ body }) => body)}::text[], ${column(({ words }) => words)}::text[],
        ${column(({ traceparent }) => traceparent ?? null)}::text[]
      ) with ordinality as row (request, group_id, workspace_id, id, event, "timestamp", hash, body, words, traceparent,
        place)
    ), known as materialized (
      select given.request, given.workspace_id, given.id, there.hash = decode(given.hash, 'hex') as same
      from given cross join lateral (
        select content_hash as hash from events
        where workspace_id = given.workspace_id and id = given.id limit 1
      ) as there
    ), fresh as materialized (
      select numbered.*, nextval('events_seq_seq') as seq from (
        select given.* from given
        where not exists (select from known where known.request = given.request and not known.same)
          and not exists (
            select from known where known.workspace_id = given.workspace_id and known.id = given.id)
        order by given.place
      ) as numbered
    ), grouped as (
      insert into event_groups (id, created_at, events, bytes)
      select group_id, ${now}::timestamptz, count(*), sum(octet_length(body)) from fresh group by group_id
    ), stored as (
      insert into events
        (seq, workspace_id, id, group_id, event, "timestamp", content_hash, body, words, traceparent,
         received_at)
      overriding system value
      select seq, workspace_id, id, group_id, event, "timestamp", decode(hash, 'hex'), body, words,
        traceparent, ${now}::timestamptz
      from fresh order by workspace_id, id
    )
    select request, workspace_id as "workspaceId", id, same as "isSame" from known
  `.compile(queryBuilderOf(database));
}

/**
 * Records that Temporal has a workflow for these groups. Only the first one counts as started: the others are when the
 * workflow claims them, since a worker of the previous version dispatches only the first one.
 */
export async function markGroupsStarted(database: Database, ids: readonly string[]): Promise<void> {
  const statement = sql`
    update event_groups set handed_at = now(),
      started_at = case when id = ${ids[0]}::uuid then now() end
    where id = any(${ids}::uuid[]) and started_at is null
  `.compile(queryBuilderOf(database));
  await runPrepared(database, statement);
}

/**
 * Returns groups that are not known to have started, oldest first: stored before `before`, and not handed to a workflow
 * since `handedBefore`.
 */
export async function listUnstartedGroups(
  database: Database,
  { before, handedBefore }: { before: Date; handedBefore: Date },
  limit: number,
): Promise<StoredGroup[]> {
  const found = await sql<StoredGroup>`
    select id, events, bytes from event_groups
    where done_at is null and started_at is null and created_at < ${before}::timestamptz
      and (handed_at is null or handed_at < ${handedBefore}::timestamptz)
    order by created_at limit ${limit}
  `.execute(queryBuilderOf(database));
  return found.rows;
}

/** Returns unfinished groups that started before `claimed`, or before `unclaimed` if no workflow has claimed them; oldest first. */
export async function listUnfinishedGroups(
  database: Database,
  since: { unclaimed: Date; claimed: Date },
  limit: number,
): Promise<{ id: string; createdAt: Date; startedAt: Date }[]> {
  const { rows } = await sql<{ id: string; created_at: string; started_at: string }>`
    select id, created_at, started_at from event_groups
    where done_at is null and started_at < case when claimed_by is null
      then ${since.unclaimed}::timestamptz else ${since.claimed}::timestamptz end
    order by created_at limit ${limit}
  `.execute(queryBuilderOf(database));
  return rows.map(({ id, created_at, started_at }) => {
    return { id, createdAt: new Date(created_at), startedAt: new Date(started_at) };
  });
}

/** Stores the event of a test delivery, which is sent to one webhook only. Returns its `seq`; null if the id exists. */
export async function insertTestEvent(
  database: Database,
  event: {
    workspace_id: string;
    id: string;
    event: EventKind;
    timestamp: Date;
    body: string;
    words: string;
    received_at: Date;
  },
): Promise<number | null> {
  const inserted = await sql<{ seq: string }>`
    insert into events
      (workspace_id, id, event, "timestamp", content_hash, body, words, test, received_at)
    values (${event.workspace_id}::uuid, ${event.id}, ${event.event}, ${event.timestamp}::timestamptz,
      sha256(convert_to(${event.body}, 'UTF8')), ${event.body}, ${event.words}, true,
      ${event.received_at}::timestamptz)
    on conflict (workspace_id, id) do nothing
    returning seq
  `.execute(queryBuilderOf(database));
  return inserted.rows[0] ? Number(inserted.rows[0].seq) : null;
}

/**
 * Returns the latest events of a workspace with a stored payload, newest first: at most `most`, with payloads of at most
 * `bytes` in total, but at least one. Test events are left out.
 */
export async function listRecentEvents(
  database: Database,
  workspaceId: string,
  { most, bytes }: { most: number; bytes: number },
): Promise<{ id: string; event: EventKind; timestamp: Date; body: string; words: string }[]> {
  const { rows } = await sql<{
    id: string;
    event: EventKind;
    timestamp: string;
    body: string;
    words: string;
  }>`
    with latest as (
      select seq, octet_length(body) as size from events
      where workspace_id = ${workspaceId}::uuid and not test and body is not null
      order by seq desc limit ${most}
    ), within as (
      select seq from (
        select seq, size, sum(size) over (order by seq desc) as total from latest
      ) as counted
      where total <= ${bytes} or total = size
    )
    select id, event, timestamp, body, words from events join within using (seq)
    where workspace_id = ${workspaceId}::uuid order by seq desc
  `.execute(queryBuilderOf(database));
  return rows.map((row) => ({ ...row, timestamp: readTime(row.timestamp) }));
}

/** Returns the name of a workspace; null if there is none. */
export async function findWorkspaceName(database: Database, id: string): Promise<string | null> {
  const workspace = await database.em.fork().findOne(Workspace, { id });
  return workspace?.name ?? null;
}
