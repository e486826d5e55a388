import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { eventually } from '../support/eventually.ts';
import { useOwnRuns, type Runs } from '../support/runs.ts';
import { endStep, stepInProgress } from '../support/steps.ts';

const me = { by: 'key:test' };
/** Longer than any test: such a step ends on command. */
const ENDLESS_MS = 600_000;
/** Time of a timer that must not end before a pause in the Web UI is accepted. */
const TIMER_MS = 6_000;
const agentsWith = (limit: string) => `
agents: { ada: { instructions: work } }
defaults: { run_time_limit: ${limit}, retry: { maximum_attempts: 2, initial_interval: ${TIMER_MS} ms, backoff_coefficient: 1, maximum_interval: ${TIMER_MS} ms } }
teams:
  feature: [{ step: one, agent: ada }, { step: two, agent: ada }]
  bug: [{ step: one, agent: ada }]
  spec: [{ step: one, agent: ada }]
  chore: [{ step: one, agent: ada }]
`;

async function webUi({ client }: Runs, action: 'pause' | 'unpause', id: string): Promise<void> {
  const request = { namespace: 'default', workflowId: id, identity: 'operator', reason: 'a test' };
  await client.workflowService[`${action}WorkflowExecution`]({ ...request, requestId: randomUUID() });
}

/** Waits until a timer of a run has ended. */
async function timerEnds({ client }: Runs, id: string): Promise<void> {
  await eventually('a timer has ended', async () => {
    const { events } = await client.workflow.getHandle(id).fetchHistory();
    return events?.some(({ timerFiredEventAttributes: fired }) => fired) === true;
  });
}

describe('a signal about a pause in the Web UI', function () {
  const runs = useOwnRuns({ agents: agentsWith('8 s') });

  it('counts before the time limit of the run, which ended during it', async () => {
    const id = await runs.submit({ rehearsal: { steps: 1, step_ms: ENDLESS_MS } });
    await stepInProgress(runs, id);
    await webUi(runs, 'pause', id);
    await runs.becomes('the pause is recorded', id, (row) => row.engine_pause_signalled);
    await endStep(runs, id);
    await timerEnds(runs, id);
    await webUi(runs, 'unpause', id);
    const row = await runs.becomes('it has ended', id, ({ completed_at }) => completed_at != null);
    assert.deepEqual([row.state, row.errors], ['completed', []]);
  });
});

describe('a signal', function () {
  const runs = useOwnRuns({ agents: agentsWith('2 min') });

  /** Pauses a run in the Web UI and through the API, and ends the first pause after `during`. */
  async function pauseTwice(id: string, during: () => Promise<void>): Promise<void> {
    await webUi(runs, 'pause', id);
    await runs.control.pause(id, me);
    await runs.becomes('the pause is recorded', id, (row) => row.engine_pause_signalled);
    await during();
    await webUi(runs, 'unpause', id);
    await runs.becomes('its end is recorded', id, (row) => row.engine_paused_at == null);
  }

  const startsOf = async (id: string) =>
    (await runs.events(id)).filter(({ type }) => type === 'step.started').length;

  it('to pause is handled before the next attempt of a step, which became due during a pause', async () => {
    const id = await runs.submit({
      taskType: 'bug',
      rehearsal: { step_ms: 300, fail: { step: 1, times: 1 } },
    });
    await runs.becomes('it has failed once', id, ({ steps }) => Boolean(steps[0]?.error));
    await pauseTwice(id, () => timerEnds(runs, id));
    assert.deepEqual([(await runs.row(id)).state, await startsOf(id)], ['paused', 1]);
    await runs.control.continue(id, me);
    await runs.reaches(id, 'completed');
  });

  it('to pause is handled before the step after one that ended during a pause', async () => {
    const id = await runs.submit({ rehearsal: { step_ms: ENDLESS_MS } });
    await stepInProgress(runs, id);
    await pauseTwice(id, () => endStep(runs, id));
    assert.deepEqual([(await runs.row(id)).state, await startsOf(id)], ['paused', 1]);
    await runs.control.continue(id, me);
    await runs.becomes('the next step works', id, ({ steps }) => steps[1]?.status === 'running');
    await runs.control.cancel(id, me);
    await runs.reaches(id, 'cancelled');
  });

  it('to pause is handled before the plan of a run whose planning ended during a pause', async () => {
    const id = await runs.submit({ rehearsal: { plan_ms: TIMER_MS } });
    await runs.reaches(id, 'planning');
    await pauseTwice(id, () => timerEnds(runs, id));
    const row = await runs.row(id);
    assert.deepEqual([row.state, row.paused_from, await startsOf(id)], ['paused', 'planning', 0]);
    await runs.control.continue(id, me);
    await runs.reaches(id, 'completed');
  });

  it('to cancel a run of many short steps is handled long before its last step', async () => {
    const id = await runs.submit({ rehearsal: { steps: 50, step_ms: 100 } });
    await runs.becomes('it works', id, ({ steps }) => steps[2]?.status === 'completed');
    await runs.control.cancel(id, me);
    await runs.control.view(id);
    const row = await runs.becomes('it has ended', id, ({ completed_at }) => completed_at != null);
    assert.equal(row.state, 'cancelled');
  });
});
