import { sql, type RawBuilder } from 'kysely';
import { lowestIdAt, NIL } from './ids.ts';
import { queryBuilderOf, type Database } from '../database.ts';

/*
 * Removal of rows past their retention, in batches. Ids of deliveries and groups begin with their time, and the `seq`
 * of events grows with time. So the primary keys find the oldest rows, without an index that would slow down every
 * delivery. If only parts of rows are erased, a mark stores the progress.
 */

/**
 * A batch: rows older than `before`, at most `limit`, after `after`, the end of the previous batch; null for the first.
 */
export type Span = { before: Date; after: string | null; limit: number };

/** The result of a batch: its number of rows, and where the next one continues; null after the last. */
export type Batch = { rows: number; next: string | null };

/** Runs one batch of a removal. */
export type Removal = (database: Database, span: Span) => Promise<Batch>;

/**
 * Erases the payloads of old events and their search words. Stops at the first event that is not old, since events of
 * several processes may be slightly out of order.
 */
export const eraseEventPayloads: Removal = async (database, { before, after, limit }) => {
  const from = after ?? (await markOf(database, 'events')) ?? '0';
  const range = await firstKeys(database, {
    keys: sql`
      select seq as key from (
        select seq, bool_and(received_at < ${before}::timestamptz) over (order by seq) as old
        from (select seq, received_at from events where seq > ${from}::bigint order by seq limit ${limit}) as next
      ) as judged where old`,
    limit,
  });
  return await runBatch(
    database,
    range,
    'events',
    (last) => sql`
    update events set body = null, words = '', search = null
    where seq > ${from}::bigint and seq <= ${last}::bigint and body is not null`,
  );
};

/** Erases the responses to attempts of old deliveries. */
export const eraseAnswers: Removal = async (database, { before, after, limit }) => {
  const from = after ?? (await markOf(database, 'answers')) ?? NIL;
  const range = await firstKeys(database, {
    keys: sql`
      select delivery_id::text as key from delivery_attempts
      where delivery_id > ${from}::uuid and delivery_id < ${lowestIdAt(before)}::uuid
      order by delivery_id limit ${limit}`,
    limit,
  });
  return await runBatch(
    database,
    range,
    'answers',
    (last) => sql`
    update delivery_attempts set response_headers = null, response_body = null
    where delivery_id > ${from}::uuid and delivery_id <= ${last}::uuid
      and (response_headers is not null or response_body is not null)`,
  );
};

/** Removes old deliveries that were skipped and never sent. */
export const removeSkipped: Removal = async (database, { before, after, limit }) => {
  const from = after ?? NIL;
  const never = sql`status = 'skipped' and attempts_count = 0`;
  const range = await firstKeys(database, {
    keys: sql`
      select id::text as key from deliveries
      where ${never} and id > ${from}::uuid and id < ${lowestIdAt(before)}::uuid order by id limit ${limit}`,
    limit,
  });
  return await runBatch(
    database,
    range,
    null,
    (last) => sql`
    delete from deliveries where ${never} and id > ${from}::uuid and id <= ${last}::uuid`,
  );
};

/** Removes old deliveries with their attempts. */
export const removeDeliveries: Removal = (database, span) =>
  removeByTime(
    database,
    'deliveries',
    span,
    (upTo) => sql`
    with attempts as (delete from delivery_attempts where ${upTo('delivery_id')})
    delete from deliveries where ${upTo('id')}`,
  );

/** Removes old groups of events. */
export const removeGroups: Removal = (database, span) =>
  removeByTime(database, 'event_groups', span, (upTo) => sql`delete from event_groups where ${upTo('id')}`);

/** Removes old events. Their deliveries are removed before. */
export const removeEvents: Removal = async (database, { before, after, limit }) => {
  const from = after ?? '0';
  const range = await firstKeys(database, {
    keys: sql`
      select seq as key from (
        select seq, received_at from events where seq > ${from}::bigint order by seq limit ${limit}
      ) as next where received_at < ${before}::timestamptz`,
    limit,
  });
  return await runBatch(
    database,
    range,
    null,
    (last) => sql`
    delete from events
    where seq > ${from}::bigint and seq <= ${last}::bigint and received_at < ${before}::timestamptz`,
  );
};

/** Removes old notifications, read or not. */
export const removeNotifications: Removal = async (database, { before, limit }) =>
  await removeFew(
    database,
    limit,
    sql`
    delete from notifications where id in (
      select id from notifications where created_at < ${before}::timestamptz order by created_at limit ${limit})`,
  );

/** Removes webhooks that were deleted long ago and have no deliveries. */
export const removeDeletedWebhooks: Removal = async (database, { before, limit }) =>
  await removeFew(
    database,
    limit,
    sql`
    delete from webhooks where id in (
      select id from webhooks where deleted_at < ${before}::timestamptz
        and not exists (select from deliveries where webhook_id = webhooks.id)
      limit ${limit})`,
  );

/**
 * Removes rows of a table whose ids begin with their time. `removal` gets a function that returns the condition for a column
 * of these ids.
 */
async function removeByTime(
  database: Database,
  table: 'deliveries' | 'event_groups',
  { before, after, limit }: Span,
  removal: (upTo: (column: 'id' | 'delivery_id') => RawBuilder<unknown>) => RawBuilder<unknown>,
): Promise<Batch> {
  const from = after ?? NIL;
  const range = await firstKeys(database, {
    keys: sql`
      select id::text as key from ${sql.raw(table)}
      where id > ${from}::uuid and id < ${lowestIdAt(before)}::uuid order by id limit ${limit}`,
    limit,
  });
  return await runBatch(database, range, null, (last) =>
    removal((column) => sql`${sql.ref(column)} > ${from}::uuid and ${sql.ref(column)} <= ${last}::uuid`),
  );
}

/** The last key of a batch, null if nothing is left, and whether more may follow. */
type Range = { last: string | null; isMore: boolean };

/**
 * Finds the last key of a batch. The batch then uses this bound instead of a list of keys: PostgreSQL reads a key range
 * by its index whatever the planner assumes about the size of the table.
 */
async function firstKeys(
  database: Database,
  { keys, limit }: { keys: RawBuilder<unknown>; limit: number },
): Promise<Range> {
  const { rows } = await sql<{ found: string; last: string | null }>`
    select count(*) as found, max(key)::text as last from (${keys}) as keys`.execute(
    queryBuilderOf(database),
  );
  const { found = '0', last = null } = rows[0] ?? {};
  return { last, isMore: Number(found) >= limit };
}

/** Runs a batch up to its last key, and moves the mark if it has one. */
async function runBatch(
  database: Database,
  { last, isMore }: Range,
  mark: MarkName | null,
  change: (last: string) => RawBuilder<unknown>,
): Promise<Batch> {
  if (last === null) return { rows: 0, next: null };
  const rows = await changed(database, change(last));
  if (mark !== null) await setMark(database, mark, last);
  return { rows, next: isMore ? last : null };
}

/** Removes rows that are always few. */
async function removeFew(database: Database, limit: number, removal: RawBuilder<unknown>): Promise<Batch> {
  const rows = await changed(database, removal);
  return { rows, next: rows < limit ? null : '' };
}

async function changed(database: Database, statement: RawBuilder<unknown>): Promise<number> {
  const { numAffectedRows = 0n } = await statement.execute(queryBuilderOf(database));
  return Number(numAffectedRows);
}

type MarkName = 'events' | 'answers';

async function markOf(database: Database, name: MarkName): Promise<string | null> {
  const result = await sql<{ reached: string }>`
    select reached from retention_marks where name = ${name}`.execute(queryBuilderOf(database));
  return result.rows[0]?.reached ?? null;
}

async function setMark(database: Database, name: MarkName, reached: string): Promise<void> {
  await sql`
    insert into retention_marks (name, reached) values (${name}, ${reached})
    on conflict (name) do update set reached = excluded.reached`.execute(queryBuilderOf(database));
}
