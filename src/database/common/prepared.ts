import type { CompiledQuery } from 'kysely';
import type { QueryResultRow } from 'pg';
import type { Database } from '../database.ts';

const names = new Map<string, string>();

/**
 * How long a connection keeps the plans of its statements, in milliseconds. A plan made while a table had few rows
 * reads the whole table, until the server analyses the table up to a minute later. Without this limit, 60 results took
 * 26 ms at 70,000 rows instead of 3 ms. Planning takes a millisecond or less.
 */
const PLAN_TTL_MS = 5_000;
/** When a connection began to keep its current plans, by the monotonic clock. */
const plannedAt = new WeakMap<object, number>();

/**
 * Runs a frequent statement as a prepared one: the server parses it once per connection, and only the driver is
 * involved. Each distinct text stays in memory, so put everything that varies into the values. Runs outside of any
 * transaction.
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
