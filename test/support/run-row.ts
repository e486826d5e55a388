import { randomUUIDv7 } from 'node:crypto';
import type { NewRun } from '../../src/database/tasks/task-runs.ts';
import type { Installation } from '../../src/runtime/installation.ts';

/** Returns a row for `insertRun`: a new run of the installation's project without a callback. */
export function newRunRow(
  { workspace_id, project_id }: Pick<Installation, 'workspace_id' | 'project_id'>,
  fields: Partial<NewRun> = {},
): NewRun {
  return {
    id: randomUUIDv7(),
    workspace_id,
    project_id,
    created_by: 'key:test',
    title: 'A test',
    description: null,
    task_type: 'feature',
    metadata: '{}',
    callback_url: null,
    callback_secret: 'sealed',
    created_at: new Date(),
    ...fields,
  };
}
