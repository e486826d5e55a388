import assert from 'node:assert/strict';
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createModelActivities } from '../../src/activities/agents/invoke-model.ts';
import { createToolActivities } from '../../src/activities/agents/tools.ts';
import type { Models } from '../../src/agents/models.ts';
import type { ToolServers } from '../../src/agents/tool-servers.ts';
import { UNTRACED_AGENTS } from '../../src/domain/agents/agent-traces.ts';
import { CALL_CONTEXT_OPTION, type CallKey, type ToolAnswer } from '../../src/domain/agents/agent-work.ts';
import { quietRun } from '../gateway/quiet-runs.ts';
import { useInstallation } from '../support/installation.ts';

const STEP = '0199c2a4-5b8c-7d15-8e62-91f0a7c3d4b5';

/** A reset in the Temporal Web UI repeats activities as new ones. Their first attempt must also find the record. */
describe('a call that is repeated as a new activity', () => {
  const fresh = useInstallation();
  let callKey: CallKey;
  beforeEach(async () => {
    const executionId = await quietRun(fresh.database, fresh.installation);
    callKey = { executionId, stepId: STEP, attempt: 1, number: 1 };
  });

  const usage = { inputTokens: { total: 3 }, outputTokens: { total: 4 } };

  it('returns the recorded response of a model, unless the prompt differs', async () => {
    let asked = 0;
    const model = {
      doGenerate: async () => {
        asked += 1;
        const content = [{ type: 'text', text: `answer ${asked}` }];
        return { content, finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] };
      },
    } as unknown as LanguageModelV4;
    const models = { get: () => model, withoutKeys: (text: string) => text } as unknown as Models;
    const { database } = fresh;
    const clock = () => new Date();
    const traces = UNTRACED_AGENTS;
    const { invokeModel } = createModelActivities({ database, models, prices: {}, clock, traces });
    const ask = async (text: string) => {
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
      const environment = new MockActivityEnvironment();
      const answer = await environment.run(invokeModel, { modelId: 'a/b', options });
      const { content } = answer as Awaited<ReturnType<typeof invokeModel>>;
      const [first] = content;
      return first?.type === 'text' ? first.text : null;
    };
    assert.equal(await ask('First?'), 'answer 1');
    assert.equal(await ask('First?'), 'answer 1');
    assert.equal(await ask('Something else?'), 'answer 2');
    assert.equal(await ask('Something else?'), 'answer 2');
    assert.equal(asked, 2);
  });

  it('returns the recorded result of a tool, unless the input differs', async () => {
    const calls: unknown[] = [];
    const servers = {
      list: async () => [{ name: 'add', inputSchema: { type: 'object' } }],
      call: async (_server: string, _tool: string, input: unknown) => {
        calls.push(input);
        return { content: [{ type: 'text', text: `done ${calls.length}` }] };
      },
      withoutSecrets: (_server: string, text: string) => text,
    } as unknown as ToolServers;
    const { callTool } = createToolActivities({
      database: fresh.database,
      catalogue: {
        agents: new Map([['ada', { tools: ['db/*'] }]]),
        servers: new Map([['db', {}]]),
      } as never,
      servers,
      clock: () => new Date(),
      traces: UNTRACED_AGENTS,
      onFault: () => {},
    });
    const call = async (input: unknown) => {
      const environment = new MockActivityEnvironment();
      const answer = await environment.run(callTool, {
        agent: 'ada',
        place: callKey,
        name: 'db__add',
        input,
      });
      return (answer as ToolAnswer).text;
    };
    assert.equal(await call({ value: 1 }), 'done 1');
    assert.equal(await call({ value: 1 }), 'done 1');
    assert.equal(await call({ value: 2 }), 'done 2');
    assert.deepEqual(calls, [{ value: 1 }, { value: 2 }]);
  });
});
