import { sql } from 'kysely';
import { queryBuilderOf, type Database } from '../database.ts';
import { runPrepared } from '../common/prepared.ts';

/** The last call of a model or a remote agent in any workspace, and whether it succeeded. */
export type LastCall = { at: string; ok: boolean };

/** Returns the last calls by name. Names without a call are omitted. */
export async function findLastCalls(
  database: Database,
  names: readonly string[],
): Promise<ReadonlyMap<string, LastCall>> {
  const statement = sql<{ name: string; started_at: string; ok: boolean }>`
    select asked.name, latest.started_at, latest.failure is null as ok
    from unnest(${[...names]}::text[]) as asked (name)
    cross join lateral (
      select started_at, failure from agent_calls
      where agent_calls.name = asked.name and kind = 'model'
      order by started_at desc limit 1
    ) latest
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  return new Map(
    rows.map(({ name, started_at, ok }) => [name, { at: new Date(started_at).toISOString(), ok }]),
  );
}
