import type { CompiledQuery } from 'kysely';
import type { QueryResultRow } from 'pg';
import type { Database } from './connect.ts';

const names = new Map<string, string>();

/**
 * Runs a statement that is sent again and again as a prepared one: the server parses it once for each connection,
 * and nothing stands between here and the driver. Its text must be one of a few, since each is kept: what differs
 * from one call to the next belongs into its values. Outside any transaction.
 */
export async function runPrepared<Row>(
  database: Pick<Database, 'em'>,
  { sql: text, parameters }: CompiledQuery<Row>,
): Promise<{ rows: Row[]; count: number }> {
  const name = names.get(text) ?? `baton_${names.size}`;
  names.set(text, name);
  const pool = await database.em.getConnection().getNativeClient();
  const { rows, rowCount } = await pool.query<Row & QueryResultRow>({ name, text, values: [...parameters] });
  return { rows, count: rowCount ?? 0 };
}
