import assert from 'node:assert/strict';
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createModelActivities } from '../../src/activities/agents/invoke-model.ts';
import { createRemoteAgentActivities } from '../../src/activities/agents/remote-agents.ts';
import { createToolActivities } from '../../src/activities/agents/tools.ts';
import { parseCatalogue } from '../../src/agents/catalogue.ts';
import { NO_ISOLATION } from '../../src/agents/isolation.ts';
import type { Models } from '../../src/agents/models.ts';
import type { ToolServers } from '../../src/agents/tool-servers.ts';
import { UNTRACED_AGENTS, type AgentTraces } from '../../src/domain/agents/agent-traces.ts';
import { CALL_CONTEXT_OPTION } from '../../src/domain/agents/agent-work.ts';
import { quietRun } from '../gateway/quiet-runs.ts';
import { useBreakableDatabase } from '../support/breakable-database.ts';
import { useInstallation } from '../support/installation.ts';
import { callsOf } from './recorded-calls.ts';
import { STEP, workOn } from './work-on-step.ts';

const MINUTE_MS = 60_000;
const PROGRAM = `process.stdin.once('data', () => console.log(JSON.stringify({ type: 'result', text: 'done' })))`;

describe('an outage of PostgreSQL that takes longer than a minute', () => {
  const fresh = useInstallation();
  const breakable = useBreakableDatabase(fresh);
  let executionId: string;
  let made: string[];
  beforeEach(async () => {
    executionId = await quietRun(fresh.database, fresh.installation);
    made = [];
  });

  const clock = () => new Date();
  const place = () => ({ executionId, stepId: STEP, attempt: 1, number: 1 });
  /** Returns traces that let the outage begin after an operation. */
  const failingAfter = (operation: string, isFailing: boolean): AgentTraces => ({
    ...UNTRACED_AGENTS,
    run: async (_operation, work) => {
      const result = await work(() => {});
      made.push(operation);
      if (isFailing) breakable.fail();
      return result;
    },
  });

  async function runProgram(isFailing: boolean): Promise<string> {
    const teams = ['feature', 'bug', 'spec', 'chore'].map((type) => `${type}: [{ step: a, agent: program }]`);
    const { runCommand } = createRemoteAgentActivities({
      database: breakable.database,
      catalogue: parseCatalogue(
        `
agents:
  program: { instructions: Look., command: [${process.execPath}, -e, ${JSON.stringify(PROGRAM)}] }
teams: { ${teams.join(', ')} }`,
        'a test',
      ),
      environment: { PATH: process.env['PATH'] },
      isolation: NO_ISOLATION,
      fetch: globalThis.fetch,
      clock,
      traces: failingAfter('program', isFailing),
      onDiagnostic: () => {},
      leaveResult: async (_work, text) => ({ summary: text, text }),
    });
    const work = workOn(executionId, 'program');
    const outcome = await runCommand({ work, turn: 1, timeLimitMs: MINUTE_MS });
    return outcome.kind === 'completed' ? (outcome.result.text ?? '') : JSON.stringify(outcome);
  }

  async function askModel(isFailing: boolean): Promise<string> {
    const usage = { inputTokens: { total: 3 }, outputTokens: { total: 4 } };
    const content = [{ type: 'text', text: 'done' }];
    const model = {
      doGenerate: async () => ({
        content,
        finishReason: { unified: 'stop', raw: 'stop' },
        usage,
        warnings: [],
      }),
    } as unknown as LanguageModelV4;
    const { invokeModel } = createModelActivities({
      database: breakable.database,
      models: { get: () => model, withoutKeys: (text: string) => text } as unknown as Models,
      prices: {},
      clock,
      traces: failingAfter('model', isFailing),
    });
    const context = {
      place: place(),
      step: { name: 'one', agent: 'ada' },
      callTimeMs: MINUTE_MS,
      isTold: true,
    };
    const options = {
      prompt: [{ role: 'user', content }],
      providerOptions: { [CALL_CONTEXT_OPTION]: context },
    } as unknown as LanguageModelV4CallOptions;
    const [first] = (await invokeModel({ modelId: 'a/b', options })).content;
    return first?.type === 'text' ? first.text : '';
  }

  async function callTool(isFailing: boolean): Promise<string> {
    const { callTool: call } = createToolActivities({
      database: breakable.database,
      catalogue: {
        agents: new Map([['ada', { tools: ['db/add'] }]]),
        servers: new Map([['db', {}]]),
      } as never,
      servers: {
        call: async () => ({ content: [{ type: 'text', text: 'done' }] }),
        withoutSecrets: (_server: string, text: string) => text,
      } as unknown as ToolServers,
      clock,
      traces: failingAfter('tool', isFailing),
      onFault: () => {},
    });
    return (await call({ agent: 'ada', place: place(), name: 'db__add', input: {} })).text;
  }

  for (const [what, activity] of [
    ['program', runProgram],
    ['model', askModel],
    ['tool', callTool],
  ] as const) {
    const start = (isFailing: boolean) => {
      const environment = new MockActivityEnvironment({ scheduledTimestampMs: Date.now() });
      const ended = environment.run<[boolean], string, typeof activity>(activity, isFailing);
      return { environment, ended };
    };

    it(`delays the call of a ${what}`, async () => {
      breakable.fail();
      const { ended } = start(false);
      await Promise.race([breakable.isRefusing(), ended]);
      assert.deepEqual(made, []);
      breakable.recover();
      assert.equal(await ended, 'done');
      assert.deepEqual(made, [what]);
    });

    it(`keeps the result of a ${what}, which is called once`, async () => {
      const { ended } = start(true);
      await Promise.race([breakable.isRefusing(), ended]);
      breakable.recover();
      assert.equal(await ended, 'done');
      assert.deepEqual(made, [what]);
      const calls = await callsOf(fresh.database, executionId);
      assert.deepEqual(
        calls.map(({ failure }) => failure),
        [null],
      );
    });

    it(`does not keep the activity of a ${what} from ending if it is cancelled`, async () => {
      const { environment, ended } = start(true);
      await Promise.race([breakable.isRefusing(), ended]);
      environment.cancel();
      await assert.rejects(
        ended,
        (error: Error) => error instanceof CancelledFailure || error.name === 'AbortError',
      );
      breakable.recover();
    });
  }
});
