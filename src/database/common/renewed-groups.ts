import { sql, type RawBuilder } from 'kysely';
import { queryBuilderOf, type Database } from '../database.ts';

/** A UUID of version 7, since old groups are removed by the time in their id. `uuidv7()` needs PostgreSQL 18. */
const NEW_ID = sql.raw(`(lpad(to_hex(floor(extract(epoch from now()) * 1000)::bigint), 12, '0') || '7'
  || substr(gen_random_uuid()::text, 1, 3) || substr(replace(gen_random_uuid()::text, '-', ''), 17))::uuid`);

/**
 * Returns common table expressions that move the events of unfinished groups to new groups, which are not started.
 * Remaining workflows of the old groups find no events. `new_group` has the ids.
 */
export function renewalOf(which: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    old_group as (
      update event_groups set done_at = now() where done_at is null and ${which} returning id, events, bytes
    ), renewed as materialized (
      select *, ${NEW_ID} as new_id from old_group
    ), new_group as (
      insert into event_groups (id, created_at, events, bytes, repeats)
      select new_id, now(), events, bytes, true from renewed returning id
    ), moved as (
      update events set group_id = renewed.new_id from renewed where events.group_id = renewed.id returning seq
    )`;
}

/** Moves the events of an unfinished group to a new group, which is not started. */
export async function renewGroup(database: Database, id: string): Promise<void> {
  await sql`with ${renewalOf(sql`id = ${id}::uuid`)} select from new_group`.execute(queryBuilderOf(database));
}
