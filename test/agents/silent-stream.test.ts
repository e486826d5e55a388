import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { TaskState } from '@a2a-js/sdk';
import type { RemoteClient } from '../../src/agents/a2a-client.ts';
import { workByRemote } from '../../src/agents/a2a-work.ts';

const IDLE_MS = 200;
const { TASK_STATE_COMPLETED, TASK_STATE_WORKING } = TaskState;
type Options = { signal: AbortSignal };

/** A connection that is lost without an error, for example behind a proxy that has restarted. */
describe('the stream of a remote agent', () => {
  const taskIn = (state: TaskState) => ({
    id: 'task',
    contextId: 'context',
    artifacts: [],
    status: { state },
  });
  const working = { payload: { $case: 'task', value: taskIn(TASK_STATE_WORKING) } };
  const silenceUntilAborted = async (signal: AbortSignal) => {
    await once(signal, 'abort');
    throw signal.reason as Error;
  };
  /** Works with an agent that has this stream. Its task is completed. */
  const follow = async (
    sendMessageStream: (request: unknown, options: Options) => AsyncGenerator,
    signal = new AbortController().signal,
  ) => {
    const seen = { polls: 0, cancelled: 0 };
    const client = {
      sendMessageStream,
      getTask: async () => ((seen.polls += 1), taskIn(TASK_STATE_COMPLETED)),
      cancelTask: async () => void (seen.cancelled += 1),
    };
    const end = await workByRemote(
      { client, card: { capabilities: { streaming: true } } } as unknown as RemoteClient,
      {
        message: { id: 'message', text: 'Look', metadata: {}, task: null },
        task: null,
        tokens: null,
        isGivenUp: () => true,
        listener: { message() {}, progress() {}, task() {} },
        idleMs: IDLE_MS,
      },
      signal,
    );
    return { kind: end.kind, ...seen };
  };

  it('is closed if it is silent for too long, and the task is polled', async () => {
    let isClosed = false;
    const result = await follow(async function* (_request, { signal }) {
      try {
        yield working;
        await silenceUntilAborted(signal);
      } finally {
        isClosed = true;
      }
    });
    assert.deepEqual(result, { kind: 'completed', polls: 1, cancelled: 0 });
    assert.ok(isClosed);
  });

  it('is not waited for if it cannot be closed', async () => {
    const result = await follow(async function* () {
      yield working;
      await new Promise(() => {});
    });
    assert.deepEqual(result, { kind: 'completed', polls: 1, cancelled: 0 });
  });

  it('has a limit between two events, and none before its task is known', async () => {
    const message = { $case: 'message', value: { parts: [], messageId: 'reply' } };
    const late = await follow(async function* () {
      await wait(4 * IDLE_MS);
      yield { payload: message };
    });
    assert.deepEqual(late, { kind: 'completed', polls: 0, cancelled: 0 });
    const slow = await follow(async function* () {
      for (let event = 0; event < 16; event += 1) {
        yield working;
        await wait(IDLE_MS / 10);
      }
      yield { payload: { $case: 'task', value: taskIn(TASK_STATE_COMPLETED) } };
    });
    assert.deepEqual(slow, { kind: 'completed', polls: 0, cancelled: 0 });
  });

  it('ends with the work', async () => {
    const control = new AbortController();
    const ended = follow(async function* (_request, { signal }) {
      yield working;
      setImmediate(() => control.abort(new Error('cancelled')));
      await silenceUntilAborted(signal);
    }, control.signal);
    await assert.rejects(ended, /cancelled/);
  });
});
