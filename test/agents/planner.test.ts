import assert from 'node:assert/strict';
import { parseCatalogue } from '../../src/agents/catalogue.ts';
import { readRunUsage } from '../../src/database/agents/agent-calls.ts';
import { stepsOfDraft } from '../../src/agents/plan-draft.ts';
import { agentPlanWorkflowId } from '../../src/temporal/agent-messages.ts';
import { saidIn, type AskedModel, type Reply } from '../support/model-server.ts';
import { eventually } from '../support/eventually.ts';
import { teamText, useModels } from './model-world.ts';

const PLANNER = 'planner: { max_steps: 4 }';
const step = (name: string, agent: string, after: string[] = []) => ({
  name,
  agent,
  task: `Do ${name} well.`,
  after,
});
const isPlanning = (asked: AskedModel) => saidIn(asked).includes('You plan the work of a team');

/** Returns a script that gives the planner these drafts in turn, and every other call "Done.". */
function planning(...drafts: unknown[]): (asked: AskedModel) => Reply {
  let count = 0;
  return (asked) => {
    if (!isPlanning(asked)) return { text: 'Done.' };
    const draft = drafts[count++];
    return { text: typeof draft === 'string' ? draft : JSON.stringify(draft) };
  };
}

describe('a planner', function () {
  const world = useModels({ agents: teamText({ more: PLANNER }) });
  const submission = { taskType: 'feature' as const };

  it('writes the steps of a run, and each agent gets its instructions', async () => {
    const draft = {
      steps: [
        step('look', 'ada'),
        step('left', 'bob', ['look']),
        step('right', 'ada', ['look']),
        step('join', 'bob', ['left', 'right']),
      ],
    };
    const id = await world.play(planning(draft), submission);
    const { steps, output } = await world.runs.reaches(id, 'completed');
    assert.deepEqual(
      steps.map(({ name, agent, status }) => [name, agent, status]),
      draft.steps.map(({ name, agent }) => [name, agent, 'completed']),
    );
    assert.equal(output?.['backend'], 'model');
    const [asked] = world.asked();
    assert.ok(asked && /- ada: You are Ada\.\n- bob: You are Bob\./.test(saidIn(asked)));
    const left = world.asked().find((request) => saidIn(request).includes('Your step now: "left"'));
    assert.match(saidIn(left as AskedModel), /Your step now: "left"\. Do left well\./);
    const calls = await world.calls(id);
    assert.equal(calls.filter(({ step_id }) => step_id === id).length, 1);
    const used = await readRunUsage(world.runs.database, id);
    assert.equal(used?.model_calls, 5, 'the planning call is counted');
    const told = (await world.runs.events(id)).filter(({ type }) => type === 'agent.message');
    assert.deepEqual(
      new Set(told.map(({ data }) => (data['step'] as { id: string }).id)),
      new Set(steps.map((one) => one.id)),
      'the feed has the messages of steps only',
    );
  });

  it('shows the run as planning, and starts no step while the run is paused', async () => {
    const draft = { steps: [step('only', 'ada')] };
    const { id, open } = await world.hold(planning(draft), submission);
    await eventually('the planner is called', () => world.asked(id).length === 1);
    await world.runs.reaches(id, 'planning');
    await world.runs.control.pause(id, { by: 'test' });
    await world.runs.reaches(id, 'paused');
    open();
    await eventually('the plan is recorded', async () => (await world.calls(id)).length === 1);
    await world.runAnother();
    assert.equal(world.asked(id).length, 1);
    await world.runs.control.continue(id, { by: 'test' });
    const { steps } = await world.runs.reaches(id, 'completed');
    assert.equal(steps.length, 1);
  });

  it('is replaced by the steps of the team if an operator terminates it', async () => {
    const { id, open } = await world.hold(planning({ steps: [step('only', 'ada')] }), submission);
    await eventually('it is asked', () => world.asked(id).length === 1);
    await world.runs.client.workflow.getHandle(agentPlanWorkflowId(id)).terminate('an operator');
    const { steps } = await world.runs.becomes('its steps begin', id, (row) => row.steps.length > 0);
    open();
    assert.deepEqual(
      steps.map(({ name }) => name),
      ['design', 'build'],
    );
    await world.runs.reaches(id, 'completed');
  });

  it('is called once more with the faults of an invalid plan', async () => {
    const bad = { steps: [step('one', 'eve', ['none'])] };
    const id = await world.play(planning(bad, { steps: [step('one', 'ada')] }), submission);
    const { steps } = await world.runs.reaches(id, 'completed');
    assert.deepEqual(
      steps.map(({ name }) => name),
      ['one'],
    );
    const again = world.asked()[1] as AskedModel;
    assert.match(saidIn(again), /one: eve is not in the team, which is ada, bob/);
    assert.match(saidIn(again), /one: no step none above it/);
  });

  it('uses the steps of the team if the second plan is invalid, too', async () => {
    const id = await world.play(planning('I would rather not.', '{"steps": []}'), submission);
    const { steps } = await world.runs.reaches(id, 'completed');
    assert.deepEqual(
      steps.map(({ name }) => name),
      ['design', 'build'],
    );
    assert.equal(world.asked().filter(isPlanning).length, 2);
  });

  it('fails the run in planning with the reason if its call is rejected', async () => {
    const id = await world.play(() => ({ status: 401, message: 'no' }), submission);
    const { errors, steps } = await world.runs.reaches(id, 'failed');
    assert.equal(errors[0]?.code, 'planning_failed');
    assert.match(errors[0]?.message ?? '', /OPENAI_COMPATIBLE_API_KEY was refused/);
    assert.deepEqual(steps, []);
  });

  it('is not called for a rehearsal', async () => {
    const id = await world.play(planning(), { ...submission, rehearsal: {} });
    await world.runs.reaches(id, 'completed');
    assert.equal(world.asked().length, 0);
  });

  it('is stopped if the run is cancelled', async () => {
    const id = await world.play(() => ({ trouble: 'hang' }), submission);
    await eventually('the planner is called', () => world.asked().length === 1);
    await world.runs.control.cancel(id, { by: 'test' });
    await world.runs.reaches(id, 'cancelled');
  });
});

describe('a plan of a model', () => {
  const catalogue = parseCatalogue(teamText({ more: PLANNER }), 'test');
  const faultsOf = (draft: unknown) => {
    const result = stepsOfDraft(catalogue, 'feature', draft, () => 'id');
    return 'faults' in result ? result.faults : [];
  };

  const FAULTS: [string, unknown, RegExp][] = [
    ['no JSON object', 'steps', /the answer/],
    ['no steps', { steps: [] }, /steps/],
    [
      'too many steps',
      { steps: ['a', 'b', 'c', 'd', 'e'].map((name) => step(name, 'ada')) },
      /5 steps are too many: at most 4/,
    ],
    ['a name twice', { steps: [step('a', 'ada'), step('a', 'bob')] }, /duplicate step a/],
    ['a bad name', { steps: [step('A b', 'ada')] }, /lower-case/],
    ['a circle', { steps: [step('a', 'ada', ['b']), step('b', 'ada', ['a'])] }, /a: no step b above it/],
    ['an agent of another team', { steps: [step('a', 'eve')] }, /eve is not in the team/],
  ];
  for (const [what, draft, fault] of FAULTS) {
    it(`is rejected with ${what}`, () => {
      assert.match(faultsOf(draft).join('; '), fault);
    });
  }

  it('takes limits and retries from the team, and the task of each step from the model', () => {
    const result = stepsOfDraft(catalogue, 'feature', { steps: [step('a', 'bob')] }, () => 'id');
    assert.ok('steps' in result);
    assert.deepEqual(result.steps[0], {
      id: 'id',
      name: 'a',
      agent: 'bob',
      after: [],
      task: 'Do a well.',
      time_limit_ms: 40_000,
      retry: {
        maximum_attempts: 2,
        initial_interval_ms: 10,
        backoff_coefficient: 1,
        maximum_interval_ms: 10,
      },
    });
  });
});
