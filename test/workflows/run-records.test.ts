import assert from 'node:assert/strict';
import { createPlanningActivities } from '../../src/activities/agents/planning.ts';
import { createRunRecords } from '../../src/activities/run-records.ts';
import { draftJsonSchema, plannerInstructions } from '../../src/agents/plan-draft.ts';
import { parseCatalogue } from '../../src/agents/catalogue.ts';
import { insertRun } from '../../src/database/tasks/task-runs.ts';
import { MODEL_CALL_TIME_LIMIT_MS } from '../../src/domain/common/limits.ts';
import type { RunChange } from '../../src/domain/tasks/run-change.ts';
import { initialView } from '../../src/domain/tasks/task-run.ts';
import { useInstallation } from '../support/installation.ts';
import { newRunRow } from '../support/run-row.ts';

const AT = '2026-01-31T12:00:00.000Z';
const catalogueWith = (planner: string) =>
  parseCatalogue(
    `
agents: { ada: { instructions: Think hard., model: anthropic/one } }
teams: { ${['feature', 'bug', 'spec', 'chore'].map((type) => `${type}: [{ step: a, agent: ada }]`).join(', ')} }
${planner}`,
    'a test',
  );

describe('the database activities of a run', () => {
  const fresh = useInstallation();
  const storeRun = async () => {
    const run = newRunRow(fresh.installation, { title: 'Ship it', description: 'Soon' });
    await insertRun(fresh.database, run);
    return run.id;
  };
  function setUp(calledBack = true) {
    const recorded: string[] = [];
    const called: string[] = [];
    const records = createRunRecords({
      database: fresh.database,
      catalogue: catalogueWith(''),
      callBack: async (id) => {
        called.push(id);
        return calledBack;
      },
      onRecorded: ({ executionId }) => void recorded.push(executionId),
    });
    return { records, recorded, called };
  }
  const endOf = (executionId: string): RunChange => ({
    executionId,
    view: { ...initialView(), state: 'completed', started_at: AT, completed_at: AT, duration_ms: 0 },
    entries: [{ key: 'run.ended', type: 'run.ended', at: AT, data: {} }],
    enginePauseOver: false,
  });

  it('make the first attempt of the callback only for an end that they have recorded', async () => {
    const id = await storeRun();
    for (const calledBack of [true, false]) {
      const { records, called, recorded } = setUp(calledBack);
      const ended = await records.endRun(endOf(calledBack ? id : await storeRun()));
      assert.deepEqual([ended.recorded.outcome, ended.calledBack], ['recorded', calledBack]);
      assert.deepEqual([called.length, recorded.length], [1, 1]);
    }
    const { records, called, recorded } = setUp();
    const missing = '0199c2a4-5b8c-7d15-8e62-91f0a7c3d4b5';
    const ended = await records.endRun(endOf(missing));
    assert.deepEqual([ended.recorded.outcome, ended.calledBack], ['missing', false]);
    assert.deepEqual([called, recorded], [[], []]);
    const planning = { ...endOf(missing), entries: [], view: null };
    const planned = await records.planRun(planning, { taskType: 'chore', rehearsal: null });
    assert.deepEqual([planned.recorded.outcome, planned.callsBackAtOnce], ['missing', true]);
    assert.deepEqual(recorded, []);
  });

  it('give a planner the task, its team and its rules, and check what it drafts', async () => {
    const executionId = await storeRun();
    const catalogue = catalogueWith('planner: { model: anthropic/two, max_steps: 2 }');
    const { openPlanning, checkDraft } = createPlanningActivities({ database: fresh.database, catalogue });
    const input = { executionId, taskType: 'chore' } as const;
    const { prompt, ...brief } = (await openPlanning(input)) ?? assert.fail('there is a planner');
    assert.match(prompt, /Ship it[\s\S]*\n\n[\s\S]*Soon/);
    assert.deepEqual(brief, {
      model: 'anthropic/two',
      instructions: plannerInstructions(catalogue, 'chore'),
      schema: draftJsonSchema(catalogue, 'chore'),
      callTimeMs: MODEL_CALL_TIME_LIMIT_MS,
    });
    const erased = { ...input, executionId: '0199c2a4-5b8c-7d15-8e62-91f0a7c3d4b5' };
    assert.equal(await openPlanning(erased), null);
    const none = createPlanningActivities({ database: fresh.database, catalogue: catalogueWith('') });
    assert.equal(await none.openPlanning(input), null);
    const step = (name: string, after: string[] = []) => ({ name, agent: 'ada', task: `Do ${name}`, after });
    const draft = { steps: [step('one'), step('two', ['one'])] };
    const checked = await checkDraft(input, draft);
    assert.ok('plan' in checked);
    assert.deepEqual(
      checked.plan.steps.map(({ name, agent, task, after }) => ({ name, agent, task, after })),
      draft.steps,
    );
    assert.deepEqual(await checkDraft(input, draft), checked, 'a repeat makes the same ids');
    const wrong = await checkDraft(input, { steps: [step('one'), step('two'), step('three')] });
    assert.ok('faults' in wrong && wrong.faults.length > 0);
  });
});
