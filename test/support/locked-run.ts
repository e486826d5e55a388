import type { Runs } from './runs.ts';

/** Does work while the row of a run is locked, so that its workflow cannot write, for as long as a slow machine needs. */
export async function whileLocked(
  { database }: Pick<Runs, 'database'>,
  id: string,
  work: () => Promise<void>,
): Promise<void> {
  await database.em.fork().transactional(async (em) => {
    await em.execute('set local idle_in_transaction_session_timeout = 0');
    await em.execute('select id from task_runs where id = ? for update', [id]);
    await work();
  });
}
