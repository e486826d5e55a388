import type { CompiledQuery } from 'kysely';
import type { QueryResultRow } from 'pg';
import type { Database } from '../database.ts';

const names = new Map<string, string>();

/**
 * How long a connection keeps the plans of its statements, in milliseconds. A plan made while a table had few rows
 * reads the whole table, and the server replaces it only after the table is analysed, which comes a minute late: 60
 * results then took 26 ms at 70,000 rows instead of 3. A plan takes a millisecond or less to make.
 */
const PLAN_TTL_MS = 5_000;
/** When the plans of a connection were started, by the monotonic clock. */
const plannedAt = new WeakMap<object, number>();

/**
 * Runs a frequent statement as a prepared one: the server parses it once per connection, and only the driver is
 * involved. Each distinct text is kept, so a text must be one of few: put what varies into its values. Runs outside of
 * any transaction.
 */
export async function runPrepared<Row>(
  database: Pick<Database, 'em'>,
  { sql: text, parameters }: CompiledQuery<Row>,
): Promise<{ rows: Row[]; count: number }> {
  const name = names.get(text) ?? `baton_${names.size}`;
  names.set(text, name);
  const pool = await database.em.getConnection().getNativeClient();
  const client = await pool.connect();
  // A broken connection also rejects the statement.
  client.on('error', ignore);
  try {
    if (isPlanningDue(client)) await client.query('discard plans');
    const values = [...parameters];
    const { rows, rowCount } = await client.query<Row & QueryResultRow>({ name, text, values });
    client.off('error', ignore).release();
    return { rows, count: rowCount ?? 0 };
  } catch (error) {
    // A connection with a failed statement is not reused.
    client.off('error', ignore).release(error as Error);
    throw error;
  }
}

function ignore(): void {}

function isPlanningDue(client: object): boolean {
  const now = performance.now();
  const since = plannedAt.get(client);
  if (since !== undefined && now - since <= PLAN_TTL_MS) return false;
  plannedAt.set(client, now);
  return since !== undefined;
}
