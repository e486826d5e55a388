import assert from 'node:assert/strict';
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createModelActivities } from '../../src/activities/agents/invoke-model.ts';
import { createToolActivities } from '../../src/activities/agents/tools.ts';
import type { Models } from '../../src/agents/models.ts';
import type { ToolServers } from '../../src/agents/tool-servers.ts';
import { recordCall } from '../../src/database/agents/agent-calls.ts';
import { listCalls } from '../../src/database/agents/call-list.ts';
import { UNTRACED_AGENTS } from '../../src/domain/agents/agent-traces.ts';
import { CALL_CONTEXT_OPTION, type CallKey, type ToolAnswer } from '../../src/domain/agents/agent-work.ts';
import { CALL_RECORD_BYTES } from '../../src/domain/common/limits.ts';
import { quietRun } from '../gateway/quiet-runs.ts';
import { breakingAfter } from '../support/breaking.ts';
import { useInstallation } from '../support/installation.ts';

const STEP = '0199c2a4-5b8c-7d15-8e62-91f0a7c3d4b5';

/** The heartbeats of workers that record that a call of a tool begins. */
const RECORDS_BEGIN = 'records-begin';

/** A reset in the Temporal Web UI repeats activities as new ones. Their first attempt must also find the record. */
describe('a call that is repeated as a new activity', () => {
  const fresh = useInstallation();
  let callKey: CallKey;
  beforeEach(async () => {
    const executionId = await quietRun(fresh.database, fresh.installation);
    callKey = { executionId, stepId: STEP, attempt: 1, number: 1 };
  });

  const usage = { inputTokens: { total: 3 }, outputTokens: { total: 4 } };

  /** Returns a function that asks a model, which answers with its number of calls, as text of this length at least. */
  function askingModel(answerLength = 0) {
    let asked = 0;
    const model = {
      doGenerate: async () => {
        asked += 1;
        const content = [{ type: 'text', text: `answer ${asked}`.padEnd(answerLength, '.') }];
        return { content, finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] };
      },
    } as unknown as LanguageModelV4;
    const models = { get: () => model, withoutKeys: (text: string) => text } as unknown as Models;
    const { database } = fresh;
    const clock = () => new Date();
    const traces = UNTRACED_AGENTS;
    const { invokeModel } = createModelActivities({ database, models, prices: {}, clock, traces });
    return async (text: string, attempt = 1) => {
      const context = {
        place: callKey,
        step: { name: 'one', agent: 'ada' },
        callTimeMs: 60_000,
        isTold: false,
      };
      const options = {
        prompt: [{ role: 'user', content: [{ type: 'text', text }] }],
        providerOptions: { [CALL_CONTEXT_OPTION]: context },
      } as unknown as LanguageModelV4CallOptions;
      const environment = new MockActivityEnvironment({ attempt });
      const answer = await environment.run(invokeModel, { modelId: 'a/b', options });
      const { content } = answer as Awaited<ReturnType<typeof invokeModel>>;
      const [first] = content;
      return first?.type === 'text' ? first.text.slice(0, 'answer 1'.length) : null;
    };
  }

  it('returns the recorded response of a model, unless the prompt differs', async () => {
    const ask = askingModel();
    assert.equal(await ask('First?'), 'answer 1');
    assert.equal(await ask('First?'), 'answer 1');
    assert.equal(await ask('Something else?'), 'answer 2');
    assert.equal(await ask('Something else?'), 'answer 2');
  });

  it('calls the model again if its response was too long for the record', async () => {
    const ask = askingModel(CALL_RECORD_BYTES);
    assert.equal(await ask('First?'), 'answer 1');
    assert.equal(await ask('First?', 2), 'answer 2');
  });

  it('does not recognize a prompt that was too long for the record, unless its activity is repeated', async () => {
    const ask = askingModel();
    const long = 'First?'.padEnd(2 * CALL_RECORD_BYTES, '.');
    assert.equal(await ask(long), 'answer 1');
    assert.equal(await ask(long, 2), 'answer 1');
    assert.equal(await ask(`${long.slice(0, -1)}!`), 'answer 2', 'another prompt with the same beginning');
  });

  /** Returns a function that calls a tool, which answers with its number of calls. */
  function callingTool(
    database = fresh.database,
    { beforeList = async () => {}, during = async () => {} } = {},
  ) {
    const calls: unknown[] = [];
    const servers = {
      list: async () => {
        await beforeList();
        return [{ name: 'add', inputSchema: { type: 'object' } }];
      },
      call: async (_server: string, _tool: string, input: unknown) => {
        calls.push(input);
        await during();
        return { content: [{ type: 'text', text: `done ${calls.length}` }] };
      },
      withoutSecrets: (_server: string, text: string) => text,
    } as unknown as ToolServers;
    const { callTool } = createToolActivities({
      database,
      catalogue: {
        agents: new Map([['ada', { tools: ['db/*'] }]]),
        servers: new Map([['db', {}]]),
      } as never,
      servers,
      clock: () => new Date(),
      traces: UNTRACED_AGENTS,
      onFault: () => {},
    });
    const call = async (input: unknown, attempt = 1, heartbeatDetails: unknown = RECORDS_BEGIN) => {
      const environment = new MockActivityEnvironment({ attempt, heartbeatDetails });
      const answer = await environment.run(callTool, {
        agent: 'ada',
        place: callKey,
        name: 'db__add',
        input,
      });
      return (answer as ToolAnswer).text;
    };
    return { call, calls };
  }

  it('returns the recorded result of a tool, unless the input differs', async () => {
    const { call, calls } = callingTool();
    assert.equal(await call({ value: 1 }), 'done 1');
    assert.equal(await call({ value: 1 }), 'done 1');
    assert.equal(await call({ value: 2 }), 'done 2');
    assert.deepEqual(calls, [{ value: 1 }, { value: 2 }]);
  });

  it('does not recognize a long input of a tool, unless its activity is repeated', async () => {
    const { call } = callingTool();
    const value = '.'.repeat(2 * CALL_RECORD_BYTES);
    assert.equal(await call({ value }), 'done 1');
    assert.equal(await call({ value }, 2), 'done 1');
    assert.equal(await call({ value: `${value.slice(1)}!` }), 'done 2');
  });

  it('does not repeat the call of a tool that was interrupted', async () => {
    const { call, calls } = callingTool();
    const at = { place: callKey, startedAt: new Date(), duration_ms: 1, usage: null, truncated: false };
    const failure = 'Interrupted because the run or its worker was stopped.';
    const interrupted = {
      kind: 'tool' as const,
      name: 'db__add',
      input: { value: 1 },
      output: null,
      failure,
    };
    await recordCall(fresh.database, { ...at, ...interrupted });
    assert.match(await call({ value: 1 }), /unknown whether it took effect/);
    assert.deepEqual(calls, []);
  });

  it('makes the call of a tool that an earlier try of its activity did not begin', async () => {
    const { call, calls } = callingTool();
    assert.equal(await call({ value: 1 }, 2), 'done 1');
    assert.equal(calls.length, 1);
  });

  it('does not repeat the call of a tool that a worker of an earlier version may have made', async () => {
    const { call, calls } = callingTool();
    assert.match(await call({ value: 1 }, 2, null), /unknown whether it took effect/);
    assert.deepEqual(calls, []);
  });

  it('does not repeat the call of a tool whose worker died, and lists it when it has ended', async () => {
    const began = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const { call, calls } = callingTool(fresh.database, {
      during: async () => {
        began.resolve();
        await released.promise;
      },
    });
    const listed = async () => {
      const page = { kind: null, cursor: null, limit: 10 };
      return (await listCalls(fresh.database, callKey.executionId, page)).map(({ failure }) => failure);
    };
    const first = call({ value: 1 });
    await began.promise;
    assert.deepEqual(await listed(), []);
    const answer = await call({ value: 1 }, 2);
    assert.match(answer, /unknown whether it took effect/);
    assert.equal(calls.length, 1);
    assert.deepEqual(await listed(), [answer]);
    released.resolve();
    await first;
  });

  it('is not made by a worker that was frozen while another one made it', async () => {
    const frozen = Promise.withResolvers<void>();
    const thawed = Promise.withResolvers<void>();
    const first = callingTool(fresh.database, {
      beforeList: async () => {
        frozen.resolve();
        await thawed.promise;
      },
    });
    const answer = first.call({ value: 1 });
    await frozen.promise;
    assert.equal(await callingTool().call({ value: 1 }, 2), 'done 1');
    thawed.resolve();
    assert.match(await answer, /unknown whether it took effect/);
    assert.deepEqual(first.calls, []);
    assert.equal(await callingTool().call({ value: 1 }, 3), 'done 1', 'the result stays recorded');
  });

  it('records the result of a tool again if the database fails, and makes the call once', async () => {
    const { call, calls } = callingTool(breakingAfter(fresh.database, 'insert into agent_calls', '57P01'));
    assert.equal(await call({ value: 1 }), 'done 1');
    assert.equal(calls.length, 1);
  });

  it('is not made if the run has ended', async () => {
    const { call, calls } = callingTool();
    const ask = askingModel();
    assert.equal(await ask('First?'), 'answer 1');
    await fresh.database.em
      .fork()
      .execute(
        `update task_runs set state = 'cancelled', started_at = now(), completed_at = now() where id = ?`,
        [callKey.executionId],
      );
    assert.equal(await ask('First?'), 'answer 1', 'it was made before');
    await assert.rejects(call({ value: 1 }), /the run has ended/);
    await assert.rejects(ask('Something else?'), /the run has ended/);
    assert.deepEqual(calls, []);
  });
});
