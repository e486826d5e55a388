import assert from 'node:assert/strict';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { CarriedTimer } from '../../src/workflows/agents/work-timer.ts';
import { saidIn, turnOf, type AskedModel, type Reply } from '../support/model-server.ts';
import { eventually } from '../support/eventually.ts';
import { executionsOf } from '../support/long-runs.ts';
import { useModels } from './model-world.ts';

const report = (asked: AskedModel): Reply => ({
  calls: [{ name: 'report_progress', arguments: { text: `turn ${turnOf(asked)}` } }],
  tokens: [1_000, 100],
});
const hang = (): Reply => ({ trouble: 'hang' });

/** The limit of each team's agent: calls, tokens and cost. Each agent reports progress without end. */
const LIMITS = {
  feature: {
    what: 'model calls',
    limit: 'model_calls: 3',
    calls: 3,
    said: /reached its limit of 3 model calls before one was done/,
  },
  bug: { what: 'tokens', limit: 'tokens: 3000', calls: 3, said: /reached its limit of 3000 tokens/ },
  spec: { what: 'cost', limit: 'cost_usd: 0.005', calls: 2, said: /reached its limit of 0\.005 US dollars/ },
} as const;
const TASK_TYPES = Object.keys(LIMITS) as (keyof typeof LIMITS)[];

const catalogue = (onLimit: 'fail' | 'escalate') => `
agents:
${TASK_TYPES.map((type) => `  ${type}-agent: { instructions: Work., limits: { ${LIMITS[type].limit}, on_limit: ${onLimit} } }`).join('\n')}
  slow: { instructions: Work., limits: { on_limit: ${onLimit} } }
defaults:
  run_time_limit: 10 min
  step_time_limit: 5 min
  retry: { maximum_attempts: 2, initial_interval: 10 ms, backoff_coefficient: 1, maximum_interval: 10 ms }
teams:
${TASK_TYPES.map((type) => `  ${type}: [{ step: one, agent: ${type}-agent }]`).join('\n')}
  chore: [{ step: one, agent: slow, time_limit: 1 s }]
prices: { openai-compatible/test: { input: 2, output: 8 } }
`;

for (const [onLimit, state] of [
  ['fail', 'failed'],
  ['escalate', 'escalated'],
] as const) {
  describe(`an agent with a limit and on_limit ${onLimit}`, function () {
    const world = useModels({ agents: catalogue(onLimit) });
    const ids = new Map<string, string>();
    before(async () => {
      // The runs share the wait: each reaches its own limit.
      for (const taskType of TASK_TYPES) ids.set(taskType, await world.play(report, { taskType }));
      ids.set('chore', await world.play(hang, { taskType: 'chore' }));
    });
    const idOf = (taskType: string) => ids.get(taskType) ?? assert.fail(taskType);

    for (const taskType of TASK_TYPES) {
      const { what, calls, said } = LIMITS[taskType];
      it(`ends the run as ${state} at its limit of ${what}, with the reason`, async () => {
        const id = idOf(taskType);
        const { errors, escalation, steps } = await world.runs.reaches(id, state);
        assert.match(onLimit === 'fail' ? (errors[0]?.message ?? '') : (escalation?.reason ?? ''), said);
        assert.equal(world.asked(id).length, calls);
        assert.deepEqual([steps[0]?.attempt, steps[0]?.usage?.model_calls], [1, calls]);
      });
    }

    it(`ends the run as ${state} at its time limit, and aborts its model call`, async () => {
      const id = idOf('chore');
      const { errors, escalation, steps } = await world.runs.reaches(id, state);
      if (onLimit === 'fail') assert.equal(errors[0]?.code, 'step_timed_out');
      else assert.equal(escalation?.reason, 'slow took longer than 1000 ms for one');
      assert.equal(steps[0]?.attempt, onLimit === 'fail' ? 2 : 1);
      await eventually('all calls are aborted', () => world.asked(id).every(({ abandoned }) => abandoned));
    });
  });
}

/** agent-time.test.ts shows that an agent's time does not pass while its run is paused. */
describe('a running agent', function () {
  const world = useModels();

  /** Returns the history events of the workflow in which the agent does the first step. */
  async function agentsHistory(id: string) {
    const { steps } = await world.runs.row(id);
    const handle = world.runs.client.workflow.getHandle(`${id}:${steps[0]?.id}:1`);
    return (await handle.fetchHistory()).events ?? [];
  }

  /** Starts an agent that reports in each of `calls` calls. Call `at` lasts until `open` is called. */
  async function reporting({ calls, at }: { calls: number; at: number }) {
    const opened = Promise.withResolvers<void>();
    const id = await world.play(async (asked) => {
      if (turnOf(asked) === at) await opened.promise;
      return turnOf(asked) < calls ? report(asked) : { text: 'Done.' };
    });
    await eventually(`call ${at} is in progress`, () => world.asked(id).length === at);
    return { id, open: opened.resolve };
  }

  it('makes no call while the run is paused, and continues afterwards', async () => {
    const { id, open } = await reporting({ calls: 4, at: 2 });
    await world.runs.control.pause(id, { by: 'test' });
    await world.runs.reaches(id, 'paused');
    await eventually('the agent receives the pause', async () =>
      (await agentsHistory(id)).some((event) => event.workflowExecutionSignaledEventAttributes),
    );
    open();
    await eventually('the second response is recorded', async () =>
      (await world.calls(id)).some(({ kind, number }) => kind === 'model' && number === 3),
    );
    await world.runAnother();
    assert.equal(world.asked(id).length, 2);
    const toolCalls = (await world.calls(id)).filter(({ kind }) => kind === 'tool');
    assert.equal(toolCalls.length, 1, 'the calls of the second response wait, too');
    await world.runs.control.continue(id, { by: 'test' });
    await world.runs.reaches(id, 'completed');
    assert.equal(world.asked(id).length, 4);
    assert.match(JSON.stringify(world.asked(id)[3]?.messages), /turn 3/);
  });

  it('is stopped with its model call if the run is cancelled', async () => {
    const id = await world.play(hang);
    await eventually('a call is in progress', () => world.asked(id).length === 1);
    await world.runs.control.cancel(id, { by: 'test' });
    await world.runs.reaches(id, 'cancelled');
    await eventually('the call is aborted', () => world.asked(id)[0]?.abandoned === true);
    assert.equal(world.asked(id).length, 1);
  });

  it('makes no model call while the run is paused in the Temporal Web UI', async () => {
    const { id, open } = await reporting({ calls: 3, at: 1 });
    const { namespace } = world.runs.client.options;
    const pause = { namespace, workflowId: id, identity: 'operator', reason: 'a look', requestId: id };
    await world.runs.client.workflowService.pauseWorkflowExecution(pause);
    await world.runs.reaches(id, 'paused');
    open();
    await eventually('the agent schedules the second call', async () => {
      const events = await agentsHistory(id);
      const types = events.map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
      return types.filter((name) => name === 'invokeModel').length === 2;
    });
    await world.runAnother();
    assert.equal(world.asked(id).length, 1);
    await world.runs.control.continue(id, { by: 'test' });
    await world.runs.reaches(id, 'completed');
    assert.equal(world.asked(id).length, 3);
  });

  it('is cancelled although it is paused in the Temporal Web UI, after its run was terminated', async () => {
    const { id, open } = await reporting({ calls: 9, at: 2 });
    const { client } = world.runs;
    const { steps } = await world.runs.row(id);
    const workflowId = `${id}:${steps[0]?.id}:1`;
    const request = {
      namespace: client.options.namespace,
      workflowId,
      identity: 'operator',
      reason: 'a look',
    };
    await client.workflowService.pauseWorkflowExecution({ ...request, requestId: `pause-${id}` });
    await eventually('the pause is listed', async () => {
      const query = `WorkflowId = '${workflowId}' and ExecutionStatus = 'Paused'`;
      return (await client.workflow.count(query)).count === 1;
    });
    await client.workflow.getHandle(id).terminate('enough');
    await world.runs.reaches(id, 'cancelled');
    await eventually('the agent is cancelled', async () =>
      (await agentsHistory(id)).some((event) => event.workflowExecutionCancelRequestedEventAttributes),
    );
    await client.workflowService.unpauseWorkflowExecution({ ...request, requestId: `unpause-${id}` });
    open();
    await world.runs.ends(workflowId);
    assert.equal(world.asked(id).length, 2);
  });

  it('makes no further model call after its run was terminated', async () => {
    const { id, open } = await reporting({ calls: 9, at: 2 });
    await world.runs.client.workflow.getHandle(id).terminate('enough');
    const { steps } = await world.runs.reaches(id, 'cancelled');
    open();
    await world.runs.ends(`${id}:${steps[0]?.id}:1`);
    assert.equal(world.asked(id).length, 2);
  });
});

describe('an agent whose workflow continues as new', function () {
  const CALLS = 12;
  const world = useModels({
    agents: catalogue('fail').replace('model_calls: 3', `model_calls: ${CALLS}`),
    environment: { AGENT_HISTORY_EVENTS: '50' },
  });

  /** Returns the measured time that an execution got from the one before. */
  async function carriedTo({ workflowId, runId }: WorkflowExecutionInfo): Promise<CarriedTimer> {
    const { events } = await world.runs.client.workflow.getHandle(workflowId, runId).fetchHistory();
    const [input] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    return (JSON.parse(Buffer.from(input?.data ?? []).toString()) as { carried: { pace: CarriedTimer } })
      .carried.pace;
  }

  it('has one limit of model calls over all executions', async () => {
    const id = await world.play(report, { taskType: 'feature' });
    const { errors, steps } = await world.runs.reaches(id, 'failed');
    assert.match(errors[0]?.message ?? '', /reached its limit of 12 model calls/);
    assert.equal(world.asked(id).length, CALLS);
    const workflowId = `${id}:${steps[0]?.id}:1`;
    const carried = await eventually('it continued twice', async () => {
      const executions = await executionsOf(world.runs, workflowId);
      return executions.length >= 3 && (await Promise.all(executions.slice(1).map(carriedTo)));
    });
    assert.equal(new Set(carried.map(({ begunAt }) => begunAt)).size, 1, 'it has one beginning');
    const times = carried.map(({ workedMs }) => workedMs);
    assert.ok(
      times.every((ms, index) => ms > (times[index - 1] ?? 0)),
      'it has one time limit, too',
    );
  });
});

describe('parallel agents', function () {
  const world = useModels();

  it('are stopped if one of them escalates the run', async () => {
    const reason = 'This needs a decision.';
    const othersAsked = Promise.withResolvers<void>();
    let hanging = 0;
    const id = await world.play(
      async (asked) => {
        if (/\bmiddle\b/.test(saidIn(asked))) {
          await othersAsked.promise;
          return { text: '', calls: [{ name: 'escalate_to_human', arguments: { reason } }] };
        }
        hanging += 1;
        if (hanging === 2) othersAsked.resolve();
        return { trouble: 'hang' };
      },
      { taskType: 'spec' },
    );
    const { steps, escalation } = await world.runs.reaches(id, 'escalated');
    assert.equal(escalation?.reason, reason);
    assert.deepEqual(
      steps.map(({ name, status }) => [name, status]),
      [
        ['left', 'cancelled'],
        ['middle', 'failed'],
        ['right', 'cancelled'],
      ],
    );
    await eventually('the calls of the others are aborted', () =>
      world.asked(id).every((asked) => asked.abandoned || /\bmiddle\b/.test(saidIn(asked))),
    );
    await world.runs.ends(id);
    const { events } = await world.runs.client.workflow.getHandle(id).fetchHistory();
    const signals = events?.flatMap(
      ({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName ?? [],
    );
    assert.deepEqual(signals, [], 'the reconciler did not have to cancel the run');
  });
});
