import { insertRun } from '../../src/database/tasks/task-runs.ts';
import { newRunRow } from './run-row.ts';
import type { FreshInstallation } from './installation.ts';

/** Stores a completed run whose callback to `callbackUrl` is still to be sent; answers its id. */
export async function storeEndedRun(
  { database, installation }: Pick<FreshInstallation, 'database' | 'installation'>,
  callbackUrl: string,
): Promise<string> {
  const run = newRunRow(installation, { callback_url: callbackUrl });
  await insertRun(database, run);
  await database.em
    .fork()
    .execute(
      `update task_runs set state = 'completed', started_at = now(), completed_at = now(), callback_body = '{}' where id = ?`,
      [run.id],
    );
  return run.id;
}
