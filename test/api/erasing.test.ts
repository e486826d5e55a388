import assert from 'node:assert/strict';
import { taskRoutes } from '../../src/api/tasks/routes.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';
import type { Caller } from '../../src/api/http/caller.ts';
import type { Call } from '../../src/api/http/route.ts';
import type { TaskLimits } from '../../src/api/tasks/task-limits.ts';
import { giveUpCallback } from '../../src/database/tasks/callbacks.ts';
import { findRun } from '../../src/database/tasks/task-runs.ts';
import { EngineUnavailable } from '../../src/temporal/task-control.ts';
import { storeEndedRun } from '../support/ended-run.ts';
import { useInstallation } from '../support/installation.ts';

describe('erasing a run', () => {
  const fresh = useInstallation();

  it('keeps its row until its history is erased, so that a request that failed can be repeated', async () => {
    const { database, installation } = fresh;
    const id = await storeEndedRun(fresh, 'https://receiver.example.com/');
    await giveUpCallback(database, id, new Date());
    let isUnavailable = true;
    const control = {
      async deleteRun() {
        if (isUnavailable) throw new EngineUnavailable('no connection');
      },
    };
    const deps = { database, control, clock: () => new Date() } as unknown as Dependencies;
    const { workspace_id: workspaceId, project_id: projectId } = installation;
    const caller = { kind: 'key', workspaceId, projectId, actor: 'key:test' } as unknown as Caller;
    const route = taskRoutes(deps, {} as TaskLimits).find(({ operationId }) => operationId === 'eraseTask');
    assert.ok(route);
    const erase = () => route.handle({ caller, params: { execution_id: id } } as unknown as Call);
    await assert.rejects(erase(), EngineUnavailable);
    assert.ok(await findRun(database, id));
    isUnavailable = false;
    assert.deepEqual(await erase(), { status: 204 });
    assert.equal(await findRun(database, id), null);
  });
});
