import assert from 'node:assert/strict';
import { join } from 'node:path';
import { loadCatalogue, parseCatalogue } from '../../src/agents/catalogue.ts';
import { planRun } from '../../src/agents/plan.ts';
import { TASK_TYPES } from '../../src/domain/task-run.ts';
import { stepWaitMs } from '../../src/domain/plan.ts';

const ROOT = join(import.meta.dirname, '../..');
const counting = () => {
  let last = 0;
  return () => `id-${++last}`;
};

function catalogueText(feature: string): string {
  const others = TASK_TYPES.slice(1).map((type) => `  ${type}: [{ step: a, agent: ada }]`);
  return `agents: { ada: { instructions: work } }\nteams:\n  feature: ${feature}\n${others.join('\n')}\n`;
}

describe('the catalogue of agents', () => {
  it('that comes with the service has a team for every task type', () => {
    const catalogue = loadCatalogue(join(ROOT, 'agents.yml'));
    for (const taskType of TASK_TYPES) {
      const planned = planRun(catalogue, { taskType, rehearsal: null }, counting());
      assert.ok('plan' in planned && planned.plan.steps.length > 0);
    }
  });

  it('puts a step behind the one above it unless `after` says otherwise', () => {
    const text = catalogueText(
      '[{ step: a, agent: ada }, { step: b, agent: ada }, { step: c, agent: ada, after: [a] }, { step: d, agent: ada, after: [] }]',
    );
    const { teams } = parseCatalogue(text, 'test');
    assert.deepEqual(
      teams.feature.map((step) => step.after),
      [[], ['a'], ['a'], []],
    );
  });

  const FAULTS: [string, string, RegExp][] = [
    ['an agent that does not exist', '[{ step: a, agent: bob }]', /teams\.feature\.a: no agent bob/],
    ['two steps of one name', '[{ step: a, agent: ada }, { step: a, agent: ada }]', /two steps are called a/],
    [
      'a step after one that comes later',
      '[{ step: a, agent: ada, after: [b] }, { step: b, agent: ada }]',
      /no step b above/,
    ],
    ['a team without steps', '[]', /teams\.feature/],
    ['a member that nobody knows', '[{ step: a, agent: ada, colour: red }]', /colour/],
    ['a duration without a unit', '[{ step: a, agent: ada, time_limit: "30" }]', /duration like 30 s/],
  ];
  for (const [what, feature, sentence] of FAULTS) {
    it(`refuses ${what}, and says where`, () => {
      assert.throws(() => parseCatalogue(catalogueText(feature), 'test'), sentence);
    });
  }

  it('refuses a file that is not there', () => {
    assert.throws(() => loadCatalogue('/nowhere/agents.yml'), /can not be read/);
  });
});

describe('planning', () => {
  const catalogue = loadCatalogue(join(ROOT, 'agents.yml'));

  it('takes as many steps as the rehearsal asks for, one after another', () => {
    const planned = planRun(catalogue, { taskType: 'chore', rehearsal: { steps: 3 } }, counting());
    assert.ok('plan' in planned);
    assert.deepEqual(
      planned.plan.steps.map(({ id, name, agent, after }) => [id, name, agent, after]),
      [
        ['id-1', 'step-1', 'developer', []],
        ['id-2', 'step-2', 'reviewer', ['step-1']],
        ['id-3', 'step-3', 'developer', ['step-2']],
      ],
    );
  });

  it('has nothing to plan with when the rehearsal speaks of a step that is not there', () => {
    const planned = planRun(
      catalogue,
      { taskType: 'chore', rehearsal: { fail: { step: 3, times: 1 } } },
      counting(),
    );
    assert.deepEqual(planned, { error: 'metadata.rehearsal speaks of step 3, the plan has 2' });
  });
});

describe('the retry policy of a step', () => {
  it('waits longer each time, up to its limit, and ends', () => {
    const retry = {
      maximum_attempts: 5,
      initial_interval_ms: 100,
      backoff_coefficient: 2,
      maximum_interval_ms: 350,
    };
    assert.deepEqual(
      [1, 2, 3, 4, 5].map((attempt) => stepWaitMs(retry, attempt)),
      [100, 200, 350, 350, null],
    );
  });
});
