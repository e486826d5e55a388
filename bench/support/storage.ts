import { DatabaseSync } from 'node:sqlite';
import type { Client } from 'pg';
import { temporalFile } from './parts.ts';

/** Bytes of a table's rows, with what is kept apart for their size, and of its indexes. */
export type TableBytes = { rows: number; indexes: number };

/** What is stored: PostgreSQL's tables by name, the bytes its log has got so far, and Temporal's database. */
export type Stored = {
  tables: Map<string, TableBytes>;
  log: number;
  /** Null where Temporal is not the dev server of this run. */
  temporal: number | null;
};

/** Looks at what is stored now, in the client's database. */
export async function storedNow(client: Client): Promise<Stored> {
  const { rows } = await client.query<{ name: string; rows: string; indexes: string }>(`
    select relname as name, pg_table_size(oid) as rows, pg_indexes_size(oid) as indexes
    from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`);
  const log = await client.query<{ bytes: string }>(
    "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as bytes",
  );
  return {
    tables: new Map(rows.map((one) => [one.name, { rows: Number(one.rows), indexes: Number(one.indexes) }])),
    log: Number(log.rows[0]?.bytes),
    temporal: temporalBytes(),
  };
}

/** The pages in use, those in the write-ahead log included, which the size of the file would leave out. */
function temporalBytes(): number | null {
  const file = temporalFile();
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

/** What has been added between two looks. */
export function added(before: Stored, after: Stored): Stored {
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
