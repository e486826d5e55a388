import assert from 'node:assert/strict';
import { createRunRecords } from '../../src/activities/run-records.ts';
import { loadCatalogue } from '../../src/agents/catalogue.ts';
import { useOwnRuns } from '../support/runs.ts';

describe('planning that is repeated because its worker died', () => {
  const runs = useOwnRuns();

  it('returns the same steps with the same ids', async () => {
    const { database, configuration } = runs;
    const catalogue = loadCatalogue(configuration.agentsFile);
    const executionId = await runs.store();
    const { planRun } = createRunRecords({ database, catalogue, callBack: async () => true });
    const change = { executionId, view: null, entries: [], enginePauseOver: false };
    const task = { taskType: 'feature', rehearsal: null } as const;
    const first = await planRun(change, task);
    assert.deepEqual(await planRun(change, task), first);
    assert.ok('plan' in first.planned);
    const ids = first.planned.plan.steps.map((step) => step.id);
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids)
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('gives the steps of another run other ids', async () => {
    const { database, configuration } = runs;
    const catalogue = loadCatalogue(configuration.agentsFile);
    const { planRun } = createRunRecords({ database, catalogue, callBack: async () => true });
    const task = { taskType: 'chore', rehearsal: null } as const;
    const ids: string[] = [];
    for (let count = 0; count < 2; count++) {
      const change = { executionId: await runs.store(), view: null, entries: [], enginePauseOver: false };
      const { planned } = await planRun(change, task);
      assert.ok('plan' in planned);
      ids.push(...planned.plan.steps.map((step) => step.id));
    }
    assert.equal(new Set(ids).size, 4);
  });
});
