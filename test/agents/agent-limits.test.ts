import assert from 'node:assert/strict';
import { turnOf, type AskedModel, type Reply } from '../support/model-server.ts';
import { eventually } from '../support/eventually.ts';
import { teamText, useModels } from './model-world.ts';

const reportAfter =
  (afterMs: number) =>
  (asked: AskedModel): Reply => ({
    calls: [{ name: 'report_progress', arguments: { text: `turn ${turnOf(asked)}` } }],
    tokens: [1_000, 100],
    afterMs,
  });
const endless = reportAfter(0);

const LIMITS: [string, string, number, RegExp][] = [
  ['model calls', 'model_calls: 3', 3, /eve reached its limit of 3 model calls before little was done/],
  ['tokens', 'tokens: 3000', 3, /eve reached its limit of 3000 tokens/],
  ['cost', 'cost_usd: 0.005', 2, /eve reached its limit of 0\.005 US dollars/],
];

for (const [what, limit, calls, sentence] of LIMITS) {
  describe(`an agent at its limit of ${what}`, function () {
    const prices = 'prices: { openai-compatible/test: { input: 2, output: 8 } }';
    const world = useModels({
      agents: teamText({ limits: `{ ${limit}, on_limit: escalate }`, chore: `{ ${limit} }`, more: prices }),
    });

    it('ends the run, with an entry among its errors', async () => {
      const id = await world.play(endless, { taskType: 'chore' });
      const { errors, steps } = await world.runs.reaches(id, 'failed');
      assert.match(errors[0]?.message ?? '', sentence);
      assert.equal(world.asked().length, calls);
      assert.deepEqual([steps[0]?.attempt, steps[0]?.usage?.model_calls], [1, calls]);
    });

    it('hands the run to a person, where the catalogue says so', async () => {
      const id = await world.play(endless, { taskType: 'bug' });
      const { escalation } = await world.runs.reaches(id, 'escalated');
      assert.match(escalation?.reason ?? '', /ada reached its limit/);
    });
  });
}

describe('the time of an agent', function () {
  const text = teamText({ limits: '{ on_limit: escalate }' }).replace(
    'step_time_limit: 40 s',
    'step_time_limit: 2 s',
  );
  const world = useModels({ agents: text });

  it('ends its attempt, and the call under way with it', async () => {
    const { abandoned } = world.server;
    const id = await world.play(() => ({ trouble: 'hang' }), { taskType: 'chore' });
    const { errors, steps } = await world.runs.reaches(id, 'failed');
    assert.equal(errors[0]?.code, 'step_timed_out');
    assert.equal(steps[0]?.attempt, 2);
    await eventually('both calls are broken off', () => world.server.abandoned === abandoned + 2);
  });

  it('hands the run to a person, where the catalogue says so', async () => {
    const id = await world.play(() => ({ trouble: 'hang' }), { taskType: 'bug' });
    const { escalation } = await world.runs.reaches(id, 'escalated');
    assert.equal(escalation?.reason, 'ada took longer than 2000 ms for one');
  });

  it('does not pass while the run is paused', async () => {
    const id = await world.play((asked) => (turnOf(asked) < 3 ? endless(asked) : { text: 'Done.' }), {
      taskType: 'chore',
    });
    await eventually('the agent is at work', () => world.asked().length > 0);
    await world.runs.control.pause(id, { by: 'test' });
    await world.runs.reaches(id, 'paused');
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await world.runs.control.continue(id, { by: 'test' });
    const { steps } = await world.runs.reaches(id, 'completed');
    assert.equal(steps[0]?.attempt, 1);
  });
});

describe('an agent at work', function () {
  const world = useModels();

  it('makes no further call while the run is paused, and goes on afterwards where it was', async () => {
    const id = await world.play((asked) => (turnOf(asked) < 4 ? reportAfter(300)(asked) : { text: 'Done.' }));
    await eventually('the second call is under way', () => world.asked().length === 2);
    await world.runs.control.pause(id, { by: 'test' });
    await world.runs.reaches(id, 'paused');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    assert.equal(world.asked().length, 2);
    await world.runs.control.continue(id, { by: 'test' });
    await world.runs.reaches(id, 'completed');
    assert.equal(world.asked().length, 4);
    assert.match(JSON.stringify(world.asked()[3]?.messages), /turn 3/);
  });

  it('is stopped by a cancel, the call under way with it', async () => {
    const { abandoned } = world.server;
    const id = await world.play(() => ({ trouble: 'hang' }));
    await eventually('a call is under way', () => world.asked().length === 1);
    await world.runs.control.cancel(id, { by: 'test' });
    await world.runs.reaches(id, 'cancelled');
    await eventually('the call is broken off', () => world.server.abandoned === abandoned + 1);
    assert.equal(world.asked().length, 1);
  });

  it('makes no further call while the run is paused in the Temporal Web UI', async () => {
    const id = await world.play((asked) => (turnOf(asked) < 6 ? reportAfter(400)(asked) : { text: 'Done.' }));
    await eventually('the agent is at work', () => world.asked().length === 1);
    const { namespace } = world.runs.client.options;
    const pause = { namespace, workflowId: id, identity: 'operator', reason: 'a look', requestId: id };
    await world.runs.client.workflowService.pauseWorkflowExecution(pause);
    await world.runs.reaches(id, 'paused');
    const asked = world.asked().length;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    assert.ok(world.asked().length <= asked + 1);
    await world.runs.control.continue(id, { by: 'test' });
    await world.runs.reaches(id, 'completed');
    assert.equal(world.asked().length, 6);
  });

  it('makes no further call when its run was terminated', async () => {
    const id = await world.play(reportAfter(300));
    await eventually('the agent is at work', () => world.asked().length === 2);
    await world.runs.client.workflow.getHandle(id).terminate('enough');
    await world.runs.reaches(id, 'cancelled');
    const asked = world.asked().length;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    assert.ok(world.asked().length <= asked + 1, `${world.asked().length} after ${asked}`);
  });
});
