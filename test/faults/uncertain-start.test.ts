import assert from 'node:assert/strict';
import { pino } from 'pino';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { submitTask } from '../../src/api/tasks/submit.ts';
import { findRun, listRuns } from '../../src/database/tasks/task-runs.ts';
import { createSealing } from '../../src/security/sealing.ts';
import { EngineUncertain, type RunToStart } from '../../src/temporal/task-control.ts';
import { eventually } from '../support/eventually.ts';
import { useOwnRuns } from '../support/runs.ts';

describe('a submission whose start is not answered in time', () => {
  const runs = useOwnRuns();

  /** Submits to an API whose engine never answers a start; `meanwhile` happens before it asks what came of it. */
  async function submit(meanwhile: (run: RunToStart) => Promise<void>) {
    let asked: RunToStart | null = null;
    const control = {
      ...runs.control,
      async start(run: RunToStart) {
        asked = run;
        throw new EngineUncertain('no answer');
      },
      async confirmStart() {
        if (asked) await meanwhile(asked);
        return 'absent' as const;
      },
    };
    const deps = {
      database: runs.database,
      control,
      sealing: createSealing(runs.configuration.sealingKeys),
      log: pino({ level: 'silent' }),
      clock: () => new Date(),
      baseUrl: 'http://localhost',
    } as unknown as Dependencies;
    const { workspace_id: workspaceId, project_id: projectId } = runs.installation;
    const caller = { kind: 'key', workspaceId, projectId, actor: 'key:test' } as Parameters<
      typeof submitTask
    >[1];
    const body = { title: 'A task', project_id: projectId, task_type: 'chore' } as const;
    return await submitTask(deps, caller, body, null);
  }

  it('is refused and leaves nothing, where nothing was started', async () => {
    await assert.rejects(
      submit(async () => {}),
      { code: 'unavailable' },
    );
    const projectIds = [runs.installation.project_id];
    assert.deepEqual((await listRuns(runs.database, { projectIds, limit: 10 })).rows, []);
  });

  it('is taken in where the run has been started beside it and has begun', async () => {
    const answer = await submit(async (run) => {
      await runs.control.start(run);
      await eventually(
        'the run has begun',
        async () => ((await findRun(runs.database, run.id))?.last_seq ?? 0) > 0,
      );
    });
    assert.equal(answer.status, 201);
    const { execution_id } = answer.body as { execution_id: string };
    await runs.reaches(execution_id, 'completed');
  });
});
