import { giveUpCallback, listCallbackAttempts } from '../../src/database/tasks/callbacks.ts';
import type { Database } from '../../src/database/database.ts';
import { insertRun } from '../../src/database/tasks/task-runs.ts';
import { newRunRow } from './run-row.ts';
import { eventually } from './eventually.ts';
import type { FreshInstallation } from './installation.ts';

/** Stores a completed run with a pending callback to `callbackUrl`. Returns its id. */
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

/** Waits for the first attempt of a callback and gives the callback up, which saves the time of the other two. */
export async function failCallback(database: Database, executionId: string): Promise<void> {
  await eventually('the first attempt has ended', async () => {
    const [first] = await listCallbackAttempts(database, executionId);
    return first?.completed_at ?? null;
  });
  await giveUpCallback(database, executionId, new Date());
}
