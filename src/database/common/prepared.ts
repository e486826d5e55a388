import type { CompiledQuery } from 'kysely';
import type { QueryResultRow } from 'pg';
import type { Database } from '../database.ts';

const names = new Map<string, string>();

/**
 * How long a connection keeps the plans of its statements. A plan that was made while a table had few rows reads the
 * whole of it, and the server makes it anew only when the table has been analysed, which comes a minute late: 60
 * results then took 26 ms at 70,000 rows instead of 3. A plan takes a millisecond or less to make.
 */
const PLANS_LAST_MS = 5_000;
/** When the plans of a connection were begun, by the monotonic clock. */
const plannedAt = new WeakMap<object, number>();

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
  const client = await pool.connect();
  // Of a connection that breaks the statement hears, too.
  client.on('error', ignore);
  try {
    if (isPlanningDue(client)) await client.query('discard plans');
    const values = [...parameters];
    const { rows, rowCount } = await client.query<Row & QueryResultRow>({ name, text, values });
    client.off('error', ignore).release();
    return { rows, count: rowCount ?? 0 };
  } catch (error) {
    // A connection on which something has failed is not given to anybody else.
    client.off('error', ignore).release(error as Error);
    throw error;
  }
}

function ignore(): void {}

function isPlanningDue(client: object): boolean {
  const now = performance.now();
  const since = plannedAt.get(client);
  if (since !== undefined && now - since <= PLANS_LAST_MS) return false;
  plannedAt.set(client, now);
  return since !== undefined;
}
