import { randomUUIDv7 } from 'node:crypto';
import { insertRun } from '../../src/database/tasks/task-runs.ts';
import type { FreshInstallation } from './installation.ts';

/** Stores a completed run whose callback to `callbackUrl` is still to be sent; answers its id. */
export async function storeEndedRun(
  { database, installation }: Pick<FreshInstallation, 'database' | 'installation'>,
  callbackUrl: string,
): Promise<string> {
  const id = randomUUIDv7();
  const { workspace_id, project_id } = installation;
  await insertRun(database, {
    id,
    workspace_id,
    project_id,
    created_by: 'key:test',
    title: 'A test',
    description: null,
    task_type: 'feature',
    metadata: {},
    callback_url: callbackUrl,
    callback_secret: 'sealed',
    created_at: new Date(),
  });
  await database.em
    .fork()
    .execute(
      `update task_runs set state = 'completed', started_at = now(), completed_at = now(), callback_body = '{}' where id = ?`,
      [id],
    );
  return id;
}
