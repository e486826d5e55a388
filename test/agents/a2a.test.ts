import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { once } from 'node:events';
import { TaskState } from '@a2a-js/sdk';
import { startA2aAgent, type A2aAgent, type Deed } from '../support/a2a-agent.ts';
import { eventually } from '../support/eventually.ts';
import { pauseUntilContinued, submitLong } from '../support/long-runs.ts';
import { useOwnRuns } from '../support/runs.ts';

const catalogue = (streaming: string, asked: string, slow: string) => `
agents:
  scout: { instructions: Look around., a2a: { url: '${streaming}', headers_env: { Authorization: SCOUT_AUTH } }, limits: { tokens: 1000 } }
  polled: { instructions: Look around., a2a: '${asked}' }
  slow: { instructions: Look around., a2a: '${slow}' }
  inner: { instructions: Look around., a2a: 'http://169.254.169.254/' }
defaults: { run_time_limit: 10 min, step_time_limit: 5 min, retry: { maximum_attempts: 1, initial_interval: 10 ms, backoff_coefficient: 1, maximum_interval: 10 ms } }
teams:
  feature: [{ step: look, agent: scout }]
  bug: [{ step: look, agent: polled }]
  spec: [{ step: look, agent: slow, time_limit: 3 s }]
  chore: [{ step: look, agent: inner }]
`;
const { TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_REJECTED, TASK_STATE_INPUT_REQUIRED } = TaskState;
const KEY = 'Bearer scout-key-123456';

const lookForLong: Deed = async ({ signal }, say) => {
  say.working('Looking for long');
  if (!signal.aborted) await once(signal, 'abort');
};

const FIRST_TURN_MS = 500;

describe('an A2A agent', function () {
  let streaming: A2aAgent;
  let polled: A2aAgent;
  let slow: A2aAgent;
  let lateRun: string;
  before(async () => {
    process.env['SCOUT_AUTH'] = KEY;
    streaming = await startA2aAgent({ streaming: true, key: KEY });
    polled = await startA2aAgent({ streaming: false });
    slow = await startA2aAgent({ streaming: false });
    slow.doing(lookForLong);
  });
  const runs = useOwnRuns(() => ({ agents: catalogue(streaming.url, polled.url, slow.url) }));
  before(async () => {
    // Its time limit passes during the other tests.
    lateRun = await runs.submit({ taskType: 'spec' });
  });
  after(async () => {
    await Promise.all([streaming?.close(), polled?.close(), slow?.close()]);
    delete process.env['SCOUT_AUTH'];
  });
  beforeEach(() => {
    for (const agent of [streaming, polled]) {
      agent.messages.length = 0;
      agent.tasks.length = 0;
      agent.methods.length = 0;
      agent.cancelled.length = 0;
    }
  });

  const textsOf = async (id: string, type: string) =>
    (await runs.events(id))
      .filter((event) => event.type === type)
      .map(({ data }) => (data as { text: string }).text);
  /** Returns the inputs of the activities that have asked the agent. */
  async function turnsOf(id: string): Promise<{ turn: number; timeLimitMs: number }[]> {
    const { events } = await runs.client.workflow.getHandle(id).fetchHistory();
    return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
      const [input] = scheduled?.input?.payloads ?? [];
      return scheduled?.activityType?.name === 'askRemoteAgent'
        ? [JSON.parse(Buffer.from(input?.data ?? []).toString())]
        : [];
    });
  }
  const transports = [
    ['over its stream', () => streaming, 'feature'],
    ['by polling', () => polled, 'bug'],
  ] as const;

  for (const [transport, which, taskType] of transports) {
    it(`does a step, followed ${transport}`, async () => {
      const reported = Promise.withResolvers<void>();
      which().doing(async (_asked, say) => {
        say.working('Looking left');
        await reported.promise;
        say.artifact('Nothing on the left.');
        say.ends(TASK_STATE_COMPLETED, 'Looked.', { usage: { input_tokens: 40, output_tokens: 2 } });
      });
      const id = await runs.submit({ taskType, title: 'Where is it?' });
      await eventually(
        'its first message is recorded',
        async () => (await textsOf(id, 'agent.message')).length > 0,
      );
      reported.resolve();
      const row = await runs.reaches(id, 'completed');
      assert.match(JSON.stringify(row.output), /"backend":"a2a".*"result":"Nothing on the left\."/);
      const [message] = which().messages;
      assert.equal(which().messages.length, 1);
      assert.match(JSON.stringify(message?.parts), /Look around\..*Where is it\?/);
      assert.deepEqual(message?.metadata, { execution_id: id, step: 'look', attempt: 1 });
      assert.deepEqual(await textsOf(id, 'agent.message'), ['Looking left']);
      if (taskType === 'feature')
        assert.deepEqual(row.steps[0]?.usage, { input_tokens: 40, output_tokens: 2, model_calls: 1 });
    });

    it(`has its task cancelled with the run, followed ${transport}`, async () => {
      which().doing(lookForLong);
      const id = await runs.submit({ taskType });
      await eventually('the agent works', async () => (await textsOf(id, 'agent.message')).length > 0);
      await runs.control.cancel(id, { by: 'test' });
      await runs.reaches(id, 'cancelled');
      await eventually('its task is cancelled', () => which().cancelled.length === 1);
    });

    it(`has its task cancelled with a run that nobody answers, followed ${transport}`, async () => {
      which().doing((_asked, say) => say.ends(TASK_STATE_INPUT_REQUIRED, 'Left or right?'));
      const id = await runs.submit({ taskType });
      await runs.reaches(id, 'paused');
      await runs.control.cancel(id, { by: 'test' });
      await runs.reaches(id, 'cancelled');
      await eventually('its task is cancelled', () => which().cancelled.length === 1);
      assert.deepEqual(which().cancelled, which().tasks);
      await eventually('its workflow has ended', async () => {
        const { status } = await runs.client.workflow.getHandle(id).describe();
        return status.name === 'COMPLETED';
      });
    });

    it(`asks a person twice, and gets the replies in the same task, followed ${transport}`, async () => {
      which().doing(async ({ text, first }, say) => {
        if (first) {
          // Longer than the next turn, so that the limit of the third one must contain both.
          await wait(FIRST_TURN_MS);
          return say.ends(TASK_STATE_INPUT_REQUIRED, 'Left or right?');
        }
        if (text === 'right') return say.ends(TASK_STATE_INPUT_REQUIRED, 'Near or far?');
        say.ends(TASK_STATE_COMPLETED, `It says: ${text}`);
      });
      const id = await runs.submit({ taskType });
      const asks = (text: string) =>
        eventually(text, async () => (await runs.reaches(id, 'paused')).question?.text === text);
      await asks('Left or right?');
      await runs.control.continue(id, { by: 'user:ada@example.com', reason: 'right' });
      await asks('Near or far?');
      await runs.control.continue(id, { by: 'user:ada@example.com', reason: 'near' });
      const row = await runs.reaches(id, 'completed');
      assert.match(JSON.stringify(row.output), /It says: near/);
      const [task, ...others] = which().tasks;
      assert.ok(task);
      assert.deepEqual(others, [task, task]);
      assert.equal(which().messages[1]?.taskId, task);
      assert.equal(row.steps[0]?.usage?.model_calls, 3);
      const [first, second, third, ...more] = await turnsOf(id);
      assert.ok(first && second && third && more.length === 0);
      assert.deepEqual([first.turn, first.timeLimitMs, second.turn, third.turn], [1, 300_000, 2, 3]);
      assert.ok(
        second.timeLimitMs <= 300_000 - FIRST_TURN_MS / 2,
        'it contains the work before the question',
      );
      assert.ok(third.timeLimitMs < second.timeLimitMs, 'it contains the work before both questions');
    });
  }

  it('gets the reply in the same task, although its run has continued as a new execution', async () => {
    streaming.doing(({ text, first }, say) =>
      first
        ? say.ends(TASK_STATE_INPUT_REQUIRED, 'Left or right?')
        : say.ends(TASK_STATE_COMPLETED, `It says: ${text}`),
    );
    const id = await submitLong(runs, 30);
    await runs.reaches(id, 'paused');
    await pauseUntilContinued(runs, id, 2);
    await runs.control.continue(id, { by: 'user:ada@example.com', reason: 'right' });
    const row = await runs.reaches(id, 'completed');
    assert.match(JSON.stringify(row.output), /It says: right/);
    assert.equal(streaming.messages.length, 2);
    assert.equal(streaming.messages[1]?.taskId, streaming.tasks[0]);
    assert.equal(row.steps[0]?.usage?.model_calls, 2);
  });

  it('can reply with a message instead of a task', async () => {
    streaming.doing((_asked, say) => say.replies('Forty-two.'));
    const row = await runs.reaches(await runs.submit(), 'completed');
    assert.match(JSON.stringify(row.output), /Forty-two\./);
  });

  it('is polled if the stream breaks off', async () => {
    const askedFor = Promise.withResolvers<void>();
    streaming.doing(async (_asked, say) => {
      say.working('Looking');
      await askedFor.promise;
      say.ends(TASK_STATE_COMPLETED, 'Found.');
    });
    const id = await runs.submit();
    await eventually('the agent works', async () => (await textsOf(id, 'agent.message')).length > 0);
    streaming.cutAll();
    await eventually('its task is polled', () => streaming.methods.includes('GetTask'));
    askedFor.resolve();
    const row = await runs.reaches(id, 'completed');
    assert.match(JSON.stringify(row.output), /Found\./);
    assert.equal(streaming.messages.length, 1);
  });

  it('ends the run with its own error message if it fails or rejects the task', async () => {
    streaming.doing((_asked, say) => say.ends(TASK_STATE_FAILED, 'lost the map'));
    const failed = await runs.reaches(await runs.submit(), 'failed');
    assert.equal(failed.errors[0]?.message, 'lost the map');
    streaming.doing((_asked, say) => say.ends(TASK_STATE_REJECTED, 'not my job'));
    const refused = await runs.reaches(await runs.submit(), 'failed');
    assert.equal(refused.errors[0]?.message, 'the agent refused the work: not my job');
  });

  it('fails the run if it uses more tokens than its limit', async () => {
    streaming.doing((_asked, say) =>
      say.ends(TASK_STATE_COMPLETED, 'Done.', { usage: { input_tokens: 2_000, output_tokens: 1 } }),
    );
    const row = await runs.reaches(await runs.submit(), 'failed');
    assert.match(row.errors[0]?.message ?? '', /scout reached its limit of 1000 tokens/);
  });

  it('has its task cancelled at the time limit of the step', async () => {
    const row = await runs.reaches(lateRun, 'failed');
    assert.equal(row.errors[0]?.code, 'step_timed_out');
    await eventually('its task is cancelled', () => slow.cancelled.length === 1);
  });

  it('gets the key from the environment, and no record or log contains the key', async () => {
    streaming.doing((_asked, say) => {
      say.working(`I was called with ${KEY}`);
      say.ends(TASK_STATE_COMPLETED, `with ${KEY}`);
    });
    const id = await runs.submit();
    const row = await runs.reaches(id, 'completed');
    assert.deepEqual([...streaming.authorizations], [KEY]);
    assert.match(JSON.stringify(row.output), /with \[SCOUT_AUTH\]/);
    const all = JSON.stringify([row, await runs.events(id), runs.logged()]);
    assert.ok(!all.includes('scout-key-123456'));
  });

  it('fails the run if its address is not allowed', async () => {
    const inner = await runs.reaches(await runs.submit({ taskType: 'chore' }), 'failed');
    assert.match(inner.errors[0]?.message ?? '', /calling inner failed: Address not allowed: 169\.254/);
  });
});
