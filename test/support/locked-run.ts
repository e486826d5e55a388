import { inTransaction } from './locked.ts';
import type { Runs } from './runs.ts';

/** Does work while the row of a run is locked, so that its workflow cannot write, for as long as a slow machine needs. */
export async function whileRunLocked(
  { database }: Pick<Runs, 'database'>,
  id: string,
  work: () => Promise<void>,
): Promise<void> {
  const statements = [
    ['set local idle_in_transaction_session_timeout = 0'],
    ['select id from task_runs where id = $1 for update', id],
  ] as const;
  await inTransaction(database, statements, work);
}
