import assert from 'node:assert/strict';
import { taskTools } from '../../src/api/mcp/task-tools.ts';
import type { ToolCall } from '../../src/api/mcp/tool.ts';

describe('the tool wait_for_task', () => {
  const tool = taskTools.find(({ name }) => name === 'wait_for_task');

  /** Calls the tool, with a run that is in these states at successive requests, and returns the preferences it sends. */
  async function preferencesOf(states: string[], seconds: number): Promise<unknown[]> {
    const sent: unknown[] = [];
    const call = {
      route: {},
      args: {},
      extra: { seconds },
      text: '{}',
      invoke: (_: unknown, { headers }: { headers: { prefer: string } }) => {
        sent.push(headers.prefer);
        return Promise.resolve({ status: 200, body: { state: states.shift() } });
      },
      signal: AbortSignal.timeout(60_000),
    };
    await tool?.run?.(call as unknown as ToolCall);
    assert.deepEqual(states, [], 'it read the run in each state');
    return sent;
  }

  it('returns a task that is paused or has ended immediately', async () => {
    assert.deepEqual(await preferencesOf(['paused'], 30), ['wait=0']);
    assert.deepEqual(await preferencesOf(['completed'], 30), ['wait=0']);
  });

  it('does not wait longer if the task is paused between two requests', async () => {
    assert.deepEqual(await preferencesOf(['planning', 'executing', 'paused'], 30), [
      'wait=0',
      'wait=30; state=planning',
      'wait=30; state=executing',
    ]);
  });

  it('responds before most clients end the call', async () => {
    assert.deepEqual(await preferencesOf(['executing', 'failed'], 60), [
      'wait=0',
      'wait=55; state=executing',
    ]);
  });
});
