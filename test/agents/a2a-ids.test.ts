import assert from 'node:assert/strict';
import { TaskState } from '@a2a-js/sdk';
import type { RemoteClient } from '../../src/agents/a2a-client.ts';
import { workByRemote } from '../../src/agents/a2a-work.ts';

/** A result or heartbeat that Temporal rejects would repeat the work until the time limit of the step. */
describe('the ids that a remote agent sends', () => {
  const ask = async (id: string, contextId: string) => {
    const task = { id, contextId, artifacts: [], status: { state: TaskState.TASK_STATE_INPUT_REQUIRED } };
    const client = { sendMessage: async () => task };
    const listener = { message() {}, progress() {}, task() {} };
    return await workByRemote(
      { client, card: { capabilities: { streaming: false } } } as unknown as RemoteClient,
      {
        message: { id: 'message', text: 'Look', metadata: {}, task: null },
        task: null,
        tokens: null,
        isGivenUp: () => true,
        listener,
      },
      new AbortController().signal,
    );
  };

  it('can have 1,000 characters', async () => {
    const long = 'x'.repeat(1_000);
    const end = await ask(long, long);
    assert.deepEqual(end.kind === 'asks' && end.task, { id: long, contextId: long });
  });

  it('cannot be longer', async () => {
    const tooLong = 'x'.repeat(1_001);
    await assert.rejects(ask(tooLong, 'context'), /an id of more than 1000 characters/);
    await assert.rejects(ask('task', tooLong), /an id of more than 1000 characters/);
  });
});
