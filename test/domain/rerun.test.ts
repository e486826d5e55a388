import assert from 'node:assert/strict';
import { createRerunPlan, selectRerunSteps, type StoredPlan } from '../../src/domain/tasks/rerun.ts';
import type { Plan } from '../../src/domain/tasks/plan.ts';
import type { Step } from '../../src/domain/tasks/run-schemas.ts';
import type { StepStatus } from '../../src/domain/tasks/task-states.ts';

const retry = {
  maximum_attempts: 1,
  initial_interval_ms: 1,
  backoff_coefficient: 1,
  maximum_interval_ms: 1,
};
const planned = (name: string, after: string[]) => ({
  id: `old-${name}`,
  name,
  agent: 'developer',
  after,
  time_limit_ms: 1_000,
  retry,
});
/** design → implement → (test, review side by side) → finish */
const plan: Plan = {
  backend: 'rehearsal',
  run_time_limit_ms: 1_000,
  steps: [
    planned('design', []),
    planned('implement', ['design']),
    planned('test', ['implement']),
    planned('review', ['implement']),
    planned('finish', ['test', 'review']),
  ],
};

function stepsWith(...statuses: StepStatus[]): Step[] {
  return plan.steps.map(({ id, name, agent }, index) => ({
    id,
    name,
    agent,
    status: statuses[index] ?? 'pending',
    attempt: 2,
    started_at: '2026-01-31T12:00:00.000Z',
    completed_at: '2026-01-31T12:00:01.000Z',
    duration_ms: 1_000,
    summary: `did ${name}`,
    usage: { input_tokens: 3, output_tokens: 4 },
    error: null,
  }));
}

const OUTPUTS = {
  results: [
    { step: 'design', text: 'two tables' },
    { step: 'implement', text: 'done' },
  ],
  artifacts: [
    { name: 'design.md', media_type: 'text/markdown', size: 3, step: 'design', agent: 'developer' },
    { name: 'patch', media_type: 'text/plain', size: 3, step: 'implement', agent: 'developer' },
  ],
};
const ALL_DONE = stepsWith('completed', 'completed', 'completed', 'completed', 'completed');

describe('a rerun', () => {
  it('starts at the first incomplete step by default', () => {
    const steps = stepsWith('completed', 'completed', 'failed', 'completed', 'skipped');
    assert.deepEqual(selectRerunSteps(plan, steps, null), {
      from: 'test',
      kept: ['design', 'implement', 'review'],
    });
  });

  it('starts at the first step if all steps were completed', () => {
    assert.deepEqual(selectRerunSteps(plan, ALL_DONE, null), { from: 'design', kept: [] });
  });

  it('repeats the later steps and keeps parallel ones', () => {
    const { kept } = selectRerunSteps(plan, ALL_DONE, 'test') ?? {};
    assert.deepEqual(kept, ['design', 'implement', 'review']);
    assert.deepEqual(selectRerunSteps(plan, ALL_DONE, 'implement')?.kept, ['design']);
  });

  it('never keeps an incomplete step', () => {
    const steps = stepsWith('completed', 'completed', 'cancelled', 'completed', 'skipped');
    assert.deepEqual(selectRerunSteps(plan, steps, 'finish'), {
      from: 'finish',
      kept: ['design', 'implement', 'review'],
    });
  });

  it('is impossible from an unknown step and for an empty plan', () => {
    assert.equal(selectRerunSteps(plan, ALL_DONE, 'deploy'), null);
    assert.equal(selectRerunSteps({ ...plan, steps: [] }, [], null), null);
  });

  it('gives the answer to the step that escalated, after earlier answers', () => {
    const answer = (text: string) => ({ step: 'implement', question: 'Which?', text, by: 'ada@example.com' });
    const rerun = (from: StoredPlan, text: string | null) =>
      createRerunPlan(
        from,
        [],
        { kept: [], results: [], artifacts: [] },
        () => 'n',
        text ? answer(text) : null,
      );
    const first = rerun(plan, 'A');
    assert.deepEqual(first.answered, answer('A'));
    const third = rerun(rerun(first, 'B'), null);
    assert.equal(third.answered, undefined);
    assert.deepEqual(
      third.steps.map(({ answers }) => answers?.map(({ text }) => text)),
      [undefined, ['A', 'B'], undefined, undefined, undefined],
    );
    const many = Array.from({ length: 12 }, (_, index) => `${index}`).reduce(rerun, plan);
    assert.deepEqual(
      many.steps[1]?.answers?.map(({ text }) => text),
      ['2', '3', '4', '5', '6', '7', '8', '9', '10', '11'],
    );
  });

  it('keeps the documents of each kept step', () => {
    const { left } = createRerunPlan(
      plan,
      ALL_DONE,
      { kept: ['design', 'implement'], ...OUTPUTS },
      () => 'n',
    );
    assert.deepEqual(left?.artifacts, OUTPUTS.artifacts);
    const { left: none } = createRerunPlan(plan, ALL_DONE, { kept: [], ...OUTPUTS }, () => 'n');
    assert.deepEqual(none, { results: [], artifacts: [] });
  });

  it('assigns new ids to all steps, and copies the kept steps with their outputs', () => {
    let number = 0;
    const again = createRerunPlan(
      plan,
      ALL_DONE,
      { kept: ['design'], ...OUTPUTS },
      () => `new-${(number += 1)}`,
    );
    assert.deepEqual(
      again.steps.map(({ id, name }) => [id, name]),
      [
        ['new-1', 'design'],
        ['new-2', 'implement'],
        ['new-3', 'test'],
        ['new-4', 'review'],
        ['new-5', 'finish'],
      ],
    );
    assert.deepEqual(again.kept, [{ ...ALL_DONE[0], id: 'new-1', kept: true }]);
    assert.deepEqual(again.steps[4]?.after, ['test', 'review']);
    assert.deepEqual(again.left, {
      results: [{ id: 'new-1', text: 'two tables' }],
      artifacts: [OUTPUTS.artifacts[0]],
    });
  });
});
