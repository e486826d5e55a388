import { sql } from 'kysely';
import { queryBuilderOf, type Database } from '../database.ts';
import { renewalOf } from './renewed-groups.ts';

/** How many groups and retries will be started in Temporal again. */
export type RestartCounts = { groups: number; retries: number };

/**
 * Prepares all unfinished work of webhooks for a new start in Temporal, under ids that Temporal cannot know: groups of
 * events get new ids, retries a new generation, so that remaining old workflows do nothing. The reconciler starts both
 * within seconds.
 */
export async function restartUnfinished(database: Database): Promise<RestartCounts> {
  const { rows } = await sql<RestartCounts>`
    with ${renewalOf(sql`true`)}, retry as (
      update deliveries set generation = generation + 1, retry_started = false
      where status = 'retrying' returning id
    )
    select (select count(*)::integer from new_group) as groups, (select count(*)::integer from retry) as retries
  `.execute(queryBuilderOf(database));
  return rows[0] ?? { groups: 0, retries: 0 };
}

/** Returns those of the ids that are runs. */
export async function findExistingRuns(database: Database, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ id: string }>`
    select id from task_runs where id = any(${[...ids]}::uuid[])
  `.execute(queryBuilderOf(database));
  return new Set(rows.map(({ id }) => id));
}
