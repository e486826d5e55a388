import assert from 'node:assert/strict';
import { join } from 'node:path';
import { loadCatalogue, parseCatalogue } from '../../src/agents/catalogue.ts';
import { planRun } from '../../src/agents/plan.ts';
import { TASK_TYPES } from '../../src/domain/tasks/task-run.ts';
import { backendOf, stepWaitMs } from '../../src/domain/tasks/plan.ts';

const ROOT = join(import.meta.dirname, '../..');
const counting = () => {
  let last = 0;
  return () => `id-${++last}`;
};

function catalogueText(feature: string): string {
  const others = TASK_TYPES.slice(1).map((type) => `  ${type}: [{ step: a, agent: ada }]`);
  return `agents: { ada: { instructions: work } }\nteams:\n  feature: ${feature}\n${others.join('\n')}\n`;
}

describe('the agent catalogue', () => {
  it('of the service has a team for every task type', () => {
    const catalogue = loadCatalogue(join(ROOT, 'agents.yml'));
    for (const taskType of TASK_TYPES) {
      const planned = planRun(catalogue, { taskType, rehearsal: null }, counting());
      assert.ok('plan' in planned && planned.plan.steps.length > 0);
    }
  });

  it('places a step after the one above it unless `after` is given', () => {
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
    ['two steps of one name', '[{ step: a, agent: ada }, { step: a, agent: ada }]', /duplicate step a/],
    [
      'a step after one that comes later',
      '[{ step: a, agent: ada, after: [b] }, { step: b, agent: ada }]',
      /no step b above/,
    ],
    ['a team without steps', '[]', /teams\.feature/],
    ['an unknown member', '[{ step: a, agent: ada, colour: red }]', /colour/],
    ['a duration without a unit', '[{ step: a, agent: ada, time_limit: "30" }]', /duration such as 30 s/],
  ];
  const A2A = "a2a: 'https://scout.example'";
  it('limits durations, and those of one activity further', () => {
    const one = (members: string) => `[{ step: a, agent: ada, ${members} }]`;
    const retry = (interval: string) =>
      one(
        `retry: { maximum_attempts: 2, initial_interval: ${interval}, backoff_coefficient: 1, maximum_interval: 1 s }`,
      );
    const model = 'model: openai/gpt';
    for (const [agent, feature, sentence] of [
      [model, one('time_limit: 8760 h'), null],
      [model, one('time_limit: 0 s'), /teams\.feature\.0\.time_limit: must be between 1 ms and 8760 h/],
      [model, one('time_limit: 8761 h'), /must be between 1 ms and 8760 h/],
      [model, one(`time_limit: 1${'0'.repeat(400)} h`), /must be between 1 ms and 8760 h/],
      [model, retry('0 s'), null],
      [model, retry('9000 h'), /initial_interval: must be between 0 ms and 8760 h/],
      [`${model}, limits: { call_time: 24 h }`, one(''), null],
      [`${model}, limits: { call_time: 25 h }`, one(''), /call_time: must be between 1 ms and 24 h/],
      [`${model}, limits: { call_time: 0 s }`, one(''), /call_time: must be between 1 ms and 24 h/],
      [A2A, one('time_limit: 24 h'), null],
      [A2A, one('time_limit: 1441 min'), /teams\.feature\.a: the time limit of a remote .* at most 24 h$/],
      ['command: [node]', one('time_limit: 25 h'), /teams\.feature\.a: .* a program must be at most 24 h/],
    ] as const) {
      const text = catalogueText(feature).replace('instructions: work', `$&, ${agent}`);
      if (sentence === null) assert.doesNotThrow(() => parseCatalogue(text, 'test'));
      else assert.throws(() => parseCatalogue(text, 'test'), sentence);
    }
  });

  it('limits the default time limit of remote agents', () => {
    const text = catalogueText('[{ step: a, agent: ada }]').replace('instructions: work', `$&, ${A2A}`);
    assert.throws(
      () => parseCatalogue(`${text}defaults: { step_time_limit: 25 h }\n`, 'test'),
      /teams\.feature\.a: the time limit of a remote agent or a program must be at most 24 h/,
    );
  });

  for (const [what, feature, sentence] of FAULTS) {
    it(`rejects ${what}, and names the place`, () => {
      assert.throws(() => parseCatalogue(catalogueText(feature), 'test'), sentence);
    });
  }

  it('gives an agent its own model or the default model, and its limits', () => {
    const text = catalogueText('[{ step: a, agent: ada }, { step: b, agent: bob }]').replace(
      'ada: { instructions: work }',
      'ada: { instructions: work, limits: { model_calls: 3, on_limit: escalate } }, bob: { instructions: w, model: openai/gpt }',
    );
    const { agents } = parseCatalogue(text, 'test', 'anthropic/claude');
    assert.deepEqual(
      [agents.get('ada')?.model, agents.get('bob')?.model],
      ['anthropic/claude', 'openai/gpt'],
    );
    const limits = { model_calls: 3, tokens: null, cost_usd: null, on_limit: 'escalate' };
    assert.deepEqual(agents.get('ada')?.limits, limits);
    assert.deepEqual(agents.get('bob')?.limits, { ...limits, model_calls: 50, on_limit: 'fail' });
    assert.equal(parseCatalogue(text, 'test').agents.get('ada')?.model, null);
  });

  const MODEL_FAULTS: [string, string, RegExp][] = [
    ['a model without a provider', 'model: gpt', /agents\.ada\.model: must be provider\/model/],
    ['an unknown provider', 'model: acme/gpt', /one of the providers openai, anthropic/],
    ['a limit of zero', 'limits: { model_calls: 0 }', /agents\.ada\.limits\.model_calls/],
    ['an unknown limit', 'limits: { patience: 3 }', /patience/],
  ];
  for (const [what, members, sentence] of MODEL_FAULTS) {
    it(`rejects ${what}, and names the place`, () => {
      const text = catalogueText('[{ step: a, agent: ada }]').replace('instructions: work', `$&, ${members}`);
      assert.throws(() => parseCatalogue(text, 'test'), sentence);
    });
  }

  it('rejects a planner with too many steps, and prices without a provider', () => {
    const text = catalogueText('[{ step: a, agent: ada }]');
    assert.throws(() => parseCatalogue(`${text}planner: { max_steps: 51 }\n`, 'test'), /planner\.max_steps/);
    assert.throws(
      () => parseCatalogue(`${text}prices: { gpt: { input: 1, output: 1 } }\n`, 'test'),
      /prices/,
    );
  });

  it('rejects a missing file', () => {
    assert.throws(() => loadCatalogue('/nowhere/agents.yml'), /cannot read the agent catalogue/);
  });
});

describe('the plan of a run', () => {
  const catalogue = loadCatalogue(join(ROOT, 'agents.yml'));

  it('has as many steps as the rehearsal requests, one after another', () => {
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

  it('uses models for agents that have one, and is a rehearsal if any step is one', () => {
    const text = catalogueText('[{ step: a, agent: ada }, { step: b, agent: bob }]').replace(
      'ada: { instructions: work }',
      'ada: { instructions: work, model: openai/gpt }, bob: { instructions: work }',
    );
    const backends = (taskType: 'feature' | 'bug', defaultModel: string | null, rehearsal: object | null) => {
      const planned = planRun(
        parseCatalogue(text, 'test', defaultModel),
        { taskType, rehearsal },
        counting(),
      );
      assert.ok('plan' in planned);
      const { plan } = planned;
      return [plan.backend, ...plan.steps.map((step) => backendOf(plan, step))];
    };
    assert.deepEqual(backends('feature', null, null), ['rehearsal', 'model', 'rehearsal']);
    assert.deepEqual(backends('feature', 'openai/gpt', null), ['model', 'model', 'model']);
    assert.deepEqual(backends('bug', null, null), ['model', 'model']);
    assert.deepEqual(backends('bug', 'openai/gpt', {}), ['rehearsal', 'rehearsal']);
  });

  it('is rejected if the rehearsal names a missing step', () => {
    const planned = planRun(
      catalogue,
      { taskType: 'chore', rehearsal: { fail: { step: 3, times: 1 } } },
      counting(),
    );
    assert.deepEqual(planned, { error: 'metadata.rehearsal names step 3, but the plan has 2 steps' });
  });
});

describe('the retry policy of a step', () => {
  it('increases the wait up to its maximum, and ends after the last attempt', () => {
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
