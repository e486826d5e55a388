import { sql } from 'kysely';
import { queryBuilderOf, type Database } from '../../src/database/database.ts';

/**
 * What was read of a table so far: rows without an index, rows through an index, and entries of its indexes, including those
 * that led to no row.
 */
export type TableReads = { unindexed: number; indexed: number; entries: number };

/** Returns what was read of a table so far. The database must have a pool of one connection, whose reads are counted. */
export async function readsOf(database: Database, table: string): Promise<TableReads> {
  const db = queryBuilderOf(database);
  await sql`select pg_stat_force_next_flush()`.execute(db);
  const { rows } = await sql<TableReads>`
    select seq_tup_read::float8 as unindexed, idx_tup_fetch::float8 as indexed,
      (select sum(idx_tup_read)::float8 from pg_stat_user_indexes where relid = t.relid) as entries
    from pg_stat_user_tables t where relname = ${table}
  `.execute(db);
  return rows[0] as TableReads;
}
