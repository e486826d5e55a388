import type { Database } from '../../src/database/database.ts';
import { eventually } from './eventually.ts';

/** A statement with its values. */
export type Statement = readonly [text: string, ...values: unknown[]];

/**
 * Does `work` while another transaction, which has done `statements`, is open. The transaction commits once `work` waits
 * for one of its locks.
 */
export async function whileLocked<Result>(
  database: Database,
  statements: readonly Statement[],
  work: () => Promise<Result>,
): Promise<Result> {
  return await inTransaction(database, statements, async (commit) => {
    const working = work();
    await eventually('it waits for a lock', () => isWaitingForLock(database));
    await commit();
    return await working;
  });
}

/** Returns whether exactly one statement in this database waits for a lock. */
export async function isWaitingForLock(database: Database): Promise<boolean> {
  const pool = await database.em.getConnection().getNativeClient();
  const { rowCount } = await pool.query(
    `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return rowCount === 1;
}

/** Does `work` after another transaction has done `statements`. `work` may commit it; it is rolled back otherwise. */
export async function inTransaction<Result>(
  database: Database,
  statements: readonly Statement[],
  work: (commit: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const pool = await database.em.getConnection().getNativeClient();
  const other = await pool.connect();
  try {
    await other.query('begin');
    for (const [text, ...values] of statements) await other.query(text, values);
    return await work(async () => void (await other.query('commit')));
  } finally {
    await other.query('rollback');
    other.release();
  }
}
