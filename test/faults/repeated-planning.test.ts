import assert from 'node:assert/strict';
import { createRunRecords } from '../../src/activities/run-records.ts';
import { loadCatalogue } from '../../src/agents/catalogue.ts';
import { inCheckout } from '../../dev/common/paths.ts';
import { insertRun } from '../../src/database/tasks/task-runs.ts';
import { useInstallation } from '../support/installation.ts';
import { newRunRow } from '../support/run-row.ts';

describe('planning that is repeated because its worker died', () => {
  const stored = useInstallation();
  const catalogue = loadCatalogue(inCheckout('agents.yml'));
  const planning = () =>
    createRunRecords({ database: stored.database, catalogue, callBack: async () => true });
  const storeRun = async () => {
    const run = newRunRow(stored.installation);
    await insertRun(stored.database, run);
    return run.id;
  };

  it('returns the same steps with the same ids', async () => {
    const { planRun } = planning();
    const executionId = await storeRun();
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
    const { planRun } = planning();
    const task = { taskType: 'chore', rehearsal: null } as const;
    const ids: string[] = [];
    for (let count = 0; count < 2; count++) {
      const change = { executionId: await storeRun(), view: null, entries: [], enginePauseOver: false };
      const { planned } = await planRun(change, task);
      assert.ok('plan' in planned);
      ids.push(...planned.plan.steps.map((step) => step.id));
    }
    assert.equal(new Set(ids).size, 4);
  });
});
