import { DatabaseSync } from 'node:sqlite';
import type { Client } from 'pg';
import { findTemporalFile } from './parts.ts';

/** Bytes of a table's rows, including values stored separately (TOAST), and of its indexes. */
export type TableBytes = { rows: number; indexes: number };

/** Sizes in bytes: PostgreSQL's tables by name, its write-ahead log so far, and Temporal's database. */
export type Storage = {
  tables: Map<string, TableBytes>;
  log: number;
  /** Null if Temporal is not the dev server of this run. */
  temporal: number | null;
};

/** Measures the sizes in the client's database. */
export async function measureStorage(client: Client): Promise<Storage> {
  const { rows } = await client.query<{ name: string; rows: string; indexes: string }>(`
    select relname as name, pg_table_size(oid) as rows, pg_indexes_size(oid) as indexes
    from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`);
  const log = await client.query<{ bytes: string }>(
    "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes",
  );
  return {
    tables: new Map(rows.map((one) => [one.name, { rows: Number(one.rows), indexes: Number(one.indexes) }])),
    log: Number(log.rows[0]?.bytes),
    temporal: measureTemporalBytes(),
  };
}

/** Returns the bytes of pages in use, including those in the write-ahead log, which the size of the file does not count. */
function measureTemporalBytes(): number | null {
  const file = findTemporalFile();
  if (file === null) return null;
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const number = (pragma: string) =>
      Object.values(database.prepare(`pragma ${pragma}`).get() ?? {}).map(Number)[0] ?? Number.NaN;
    return (number('page_count') - number('freelist_count')) * number('page_size');
  } finally {
    database.close();
  }
}

/** Returns the growth between two measurements. */
export function diffStorage(before: Storage, after: Storage): Storage {
  const tables = [...after.tables].map(([name, { rows, indexes }]) => {
    const { rows: rowsBefore, indexes: indexesBefore } = before.tables.get(name) ?? { rows: 0, indexes: 0 };
    return [name, { rows: rows - rowsBefore, indexes: indexes - indexesBefore }] as const;
  });
  return {
    tables: new Map(tables.filter(([, bytes]) => bytes.rows + bytes.indexes > 0)),
    log: after.log - before.log,
    temporal: after.temporal === null || before.temporal === null ? null : after.temporal - before.temporal,
  };
}
