import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { useOwnRuns } from '../support/runs.ts';

const me = { by: 'key:test' };
const RETRY_MS = 2_000;
const AGENTS = `
agents: { ada: { instructions: work } }
defaults: { run_time_limit: 8 s, retry: { maximum_attempts: 2, initial_interval: 2 s, backoff_coefficient: 1, maximum_interval: 2 s } }
teams:
  feature: [{ step: one, agent: ada }, { step: two, agent: ada }]
  bug: [{ step: one, agent: ada }]
  spec: [{ step: one, agent: ada }]
  chore: [{ step: one, agent: ada }]
`;

describe('a signal', function () {
  const runs = useOwnRuns({ agents: AGENTS });

  async function webUi(action: 'pause' | 'unpause', id: string): Promise<void> {
    const request = { namespace: 'default', workflowId: id, identity: 'operator', reason: 'a test' };
    await runs.client.workflowService[`${action}WorkflowExecution`]({ ...request, requestId: randomUUID() });
  }

  /** Pauses a run in the Web UI and through the API, and ends the first pause after `ms`. */
  async function pauseTwice(id: string, ms: number): Promise<void> {
    await webUi('pause', id);
    await runs.control.pause(id, me);
    await runs.becomes('the pause is recorded', id, (row) => row.engine_pause_signalled);
    await wait(ms);
    await webUi('unpause', id);
    await runs.becomes('its end is recorded', id, (row) => row.engine_paused_at == null);
  }

  const startsOf = async (id: string) =>
    (await runs.events(id)).filter(({ type }) => type === 'step.started').length;

  it('about a pause in the Web UI counts before the time limit of the run, which ended during it', async () => {
    const id = await runs.submit({ rehearsal: { steps: 1, step_ms: 1_000 } });
    await runs.reaches(id, 'executing');
    await webUi('pause', id);
    await runs.becomes('the pause is recorded', id, (row) => row.engine_pause_signalled);
    await wait(8_500);
    await webUi('unpause', id);
    const row = await runs.becomes('it has ended', id, ({ completed_at }) => completed_at != null);
    assert.deepEqual([row.state, row.errors], ['completed', []]);
  });

  it('to pause is handled before the next attempt of a step, which became due during a pause', async () => {
    const id = await runs.submit({
      taskType: 'bug',
      rehearsal: { step_ms: 300, fail: { step: 1, times: 1 } },
    });
    await runs.becomes('it has failed once', id, ({ steps }) => Boolean(steps[0]?.error));
    await pauseTwice(id, RETRY_MS);
    assert.deepEqual([(await runs.row(id)).state, await startsOf(id)], ['paused', 1]);
    await runs.control.continue(id, me);
    await runs.reaches(id, 'completed');
  });

  it('to pause is handled before the step after one that ended during a pause', async () => {
    const id = await runs.submit({ rehearsal: { step_ms: 1_000 } });
    await runs.becomes('it works', id, ({ steps }) => steps[0]?.status === 'running');
    await pauseTwice(id, 1_000);
    assert.deepEqual([(await runs.row(id)).state, await startsOf(id)], ['paused', 1]);
    await runs.control.continue(id, me);
    await runs.reaches(id, 'completed');
  });

  it('to pause is handled before the plan of a run whose planning ended during a pause', async () => {
    const id = await runs.submit({ rehearsal: { plan_ms: 1_000 } });
    await runs.reaches(id, 'planning');
    await pauseTwice(id, 1_000);
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
