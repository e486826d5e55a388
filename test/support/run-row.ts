import { randomUUIDv7 } from 'node:crypto';
import type { NewRun } from '../../src/database/tasks/task-runs.ts';
import type { Installation } from '../../src/runtime/installation.ts';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { callbackSecretContext, createSealing } from '../../src/security/sealing.ts';
import { SHARED_RINGS } from './rings.ts';

/** The sealing of a lane's shared services. A service that starts later must be able to open the secrets in its database. */
export const sharedSealing = createSealing(parseKeyRing(SHARED_RINGS.BATON_SEALING_KEYS));

/** Returns a row for `insertRun`: a new run of the installation's project without a callback. */
export function newRunRow(
  { workspace_id, project_id }: Pick<Installation, 'workspace_id' | 'project_id'>,
  fields: Partial<NewRun> = {},
): NewRun {
  const { id = randomUUIDv7() } = fields;
  return {
    id,
    workspace_id,
    project_id,
    created_by: 'key:test',
    title: 'A test',
    description: null,
    task_type: 'feature',
    metadata: '{}',
    callback_url: null,
    callback_secret: sharedSealing.seal('a secret', callbackSecretContext(id)),
    created_at: new Date(),
    ...fields,
  };
}
