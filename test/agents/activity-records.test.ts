import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { APICallError, type LanguageModelV4, type LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createAgentFeed } from '../../src/activities/agents/agent-feed.ts';
import { createArtifactActivities } from '../../src/activities/agents/artifacts.ts';
import { createModelActivities } from '../../src/activities/agents/invoke-model.ts';
import {
  createRemoteAgentActivities,
  type RemoteAgentInput,
  type RemoteOutcome,
} from '../../src/activities/agents/remote-agents.ts';
import { createStepActivities } from '../../src/activities/agents/steps.ts';
import { createToolActivities } from '../../src/activities/agents/tools.ts';
import { parseCatalogue } from '../../src/agents/catalogue.ts';
import { NO_ISOLATION } from '../../src/agents/isolation.ts';
import type { Models } from '../../src/agents/models.ts';
import { instructionsFor } from '../../src/agents/prompt.ts';
import { ToolServerError, type ToolServers } from '../../src/agents/tool-servers.ts';
import { beginCall } from '../../src/database/agents/agent-calls.ts';
import { listCalls } from '../../src/database/agents/call-list.ts';
import { UNTRACED_AGENTS, type AgentTraces } from '../../src/domain/agents/agent-traces.ts';
import { CALL_CONTEXT_OPTION } from '../../src/domain/agents/agent-work.ts';
import { MAX_AGENT_MESSAGES, MAX_ARTIFACT_BYTES, MAX_ARTIFACTS } from '../../src/domain/common/limits.ts';
import { feedOf, quietRun } from '../gateway/quiet-runs.ts';
import { useInstallation } from '../support/installation.ts';
import { STEP, workOn } from './work-on-step.ts';

const AT = new Date('2026-01-31T12:00:00.000Z');
const MINUTE_MS = 60_000;

describe('the activities of agents', () => {
  const fresh = useInstallation();
  let executionId: string;
  beforeEach(async () => {
    executionId = await quietRun(fresh.database, fresh.installation);
  });

  const placeOf = (number: number) => ({ executionId, stepId: STEP, attempt: 4, number });
  /** Returns the recorded calls. Durations are measured, so they are only checked to be whole numbers. */
  const calls = async () => {
    const all = await listCalls(fresh.database, executionId, { kind: null, cursor: null, limit: 100 });
    return all.map(({ duration_ms: duration, ...call }) => {
      assert.ok(Number.isInteger(duration) && duration >= 0);
      return call;
    });
  };
  const events = async () =>
    (await feedOf(fresh.database, executionId)).map(({ type, at, data }) => [type, at, data]);
  const end = () =>
    fresh.database.em
      .fork()
      .execute(`update task_runs set state = 'cancelled', completed_at = now() where id = ?`, [executionId]);
  /** Returns traces that keep each operation with its reported result. */
  function keepingTraces() {
    const kept: unknown[] = [];
    const traces: AgentTraces = {
      ...UNTRACED_AGENTS,
      run: (operation, work) => work((result) => void kept.push([operation, result])),
    };
    return { traces, kept };
  }
  const run = async <Result>(work: () => Promise<Result>, info: object = {}) =>
    await new MockActivityEnvironment(info, { logger: new DefaultLogger('ERROR') }).run<
      [],
      Result,
      () => Promise<Result>
    >(work);

  describe('that call models', () => {
    /** Returns a function that asks a model once, and what it leaves. */
    function asking(generate: (options: LanguageModelV4CallOptions) => unknown) {
      const ended: unknown[] = [];
      const { traces, kept } = keepingTraces();
      const model = { doGenerate: async (options: LanguageModelV4CallOptions) => generate(options) };
      const models = {
        get: (name: string) => {
          assert.equal(name, 'openai/b');
          return model as unknown as LanguageModelV4;
        },
        withoutKeys: (text: string) => text.replaceAll('secret-key', '***'),
      } as unknown as Models;
      const { invokeModel } = createModelActivities({
        database: fresh.database,
        models,
        prices: { 'openai/b': { input: 3, output: 5 }, 'openai/c': { input: 7, output: 7 } },
        clock: () => AT,
        traces,
        onCall: ({ model: name, usage, duration_ms: duration }) =>
          void ended.push([name, usage, Number.isFinite(duration)]),
      });
      const ask = async (number: number, { isTold = true, callTimeMs = MINUTE_MS } = {}) => {
        const context = { place: placeOf(number), step: { name: 'one', agent: 'ada' }, callTimeMs, isTold };
        const said = (role: string, text: string) => ({ role, content: [{ type: 'text', text }] });
        const options = {
          prompt: [said('user', 'First'), said('assistant', 'Then'), said('user', `Now ${number}`)],
          providerOptions: { [CALL_CONTEXT_OPTION]: context, other: { kept: true } },
          temperature: 0.5,
        } as unknown as LanguageModelV4CallOptions;
        return await run(() => invokeModel({ modelId: 'openai/b', options }));
      };
      return { ask, ended, kept };
    }
    const finishReason = { unified: 'stop', raw: 'end_turn' };
    const responseOf = (...texts: string[]) => ({
      content: [
        ...texts.map((text) => ({ type: 'text', text })),
        { type: 'tool-call', toolCallId: '1', toolName: 'x', input: '{}' },
      ],
      finishReason,
      usage: {
        inputTokens: { total: 100, cacheRead: 20, cacheWrite: 30, noCache: 50 },
        outputTokens: { total: 11, reasoning: 4, text: 7 },
        raw: { secret: true },
      },
      warnings: [{ type: 'other', message: 'careful' }],
      response: { id: 'response-1', modelId: 'b-2026' },
      request: { body: 'raw' },
    });
    const common = {
      step_id: STEP,
      attempt: 4,
      kind: 'model',
      name: 'openai/b',
      started_at: AT.toISOString(),
    };

    it('record the response, its usage and cost, and write its text to the feed', async () => {
      let given: LanguageModelV4CallOptions | undefined;
      const { ask, ended, kept } = asking((options) => {
        given = options;
        return responseOf(' Hello', 'world ');
      });
      const { content, usage, warnings } = responseOf(' Hello', 'world ');
      const { raw: _, ...counted } = usage;
      const answer = { content, finishReason, usage: counted, warnings };
      assert.deepEqual(await ask(1), answer);
      assert.deepEqual(given?.providerOptions, { other: { kept: true } });
      assert.deepEqual([given?.temperature, given?.prompt.length], [0.5, 3]);
      assert.ok(given?.abortSignal instanceof AbortSignal);
      const input = [{ role: 'user', content: [{ type: 'text', text: 'Now 1' }] }];
      const tokens = { input_tokens: 100, output_tokens: 11, cost_usd: 0.000355 };
      const recorded = { ...common, number: 1, input, output: answer, truncated: false, failure: null };
      assert.deepEqual(await calls(), [{ ...recorded, usage: tokens }]);
      assert.deepEqual(ended, [['openai/b', { ...tokens, model_calls: 1 }, true]]);
      assert.deepEqual(kept, [
        [
          { kind: 'chat', model: 'openai/b', agent: 'ada' },
          {
            inputTokens: 100,
            outputTokens: 11,
            cacheReadTokens: 20,
            cacheWriteTokens: 30,
            reasoningTokens: 4,
            finishReason: 'stop',
            responseId: 'response-1',
            responseModel: 'b-2026',
          },
        ],
      ]);
      const step = { id: STEP, name: 'one', agent: 'ada', attempt: 4 };
      const message = ['agent.message', AT.toISOString(), { step, text: 'Hello\nworld' }];
      assert.deepEqual(await events(), [message]);
      await ask(2, { isTold: false });
      await ask(3);
      assert.deepEqual(await events(), [message, message], 'each call that is told has its own event');
    });

    it('write no empty text to the feed', async () => {
      const { ask } = asking(() => responseOf(' ', '\n'));
      await ask(1);
      assert.deepEqual([await events(), (await calls()).length], [[], 1]);
    });

    it('record a failure without keys, and ask for the wait that the provider wants', async () => {
      const failureOf = (statusCode: number, headers: Record<string, string>) =>
        new APICallError({
          message: 'no secret-key',
          url: 'https://example.com',
          requestBodyValues: {},
          statusCode,
          responseHeaders: headers,
        });
      const failures = [failureOf(503, { 'retry-after': '7' }), failureOf(503, {}), failureOf(400, {})];
      const { ask, ended } = asking(() => Promise.reject(failures.shift() ?? new Error('none')));
      const thrown = [];
      for (const number of [1, 2, 3])
        thrown.push(
          await ask(number).catch((error: unknown) => {
            assert.ok(error instanceof ApplicationFailure);
            return [error.type, error.nonRetryable, error.nextRetryDelay ?? null, error.message];
          }),
        );
      assert.deepEqual(thrown, [
        ['ModelFailed', false, 7_000, 'openai/b returned 503: no ***'],
        ['ModelFailed', false, null, 'openai/b returned 503: no ***'],
        ['ModelRefused', true, null, 'openai/b returned 400: no ***'],
      ]);
      const recorded = await calls();
      assert.deepEqual(recorded[0], {
        ...common,
        number: 1,
        input: [{ role: 'user', content: [{ type: 'text', text: 'Now 1' }] }],
        output: null,
        truncated: false,
        usage: null,
        failure: 'openai/b returned 503: no ***',
      });
      assert.equal(recorded.length, 3);
      assert.deepEqual(ended[0], ['openai/b', null, true]);
      assert.deepEqual(await events(), []);
    });

    it('end a call that takes longer than its limit, and one without a record at once', async () => {
      const { ask } = asking(
        ({ abortSignal }) =>
          new Promise((_, reject) => abortSignal?.addEventListener('abort', () => reject(new Error('late')))),
      );
      await assert.rejects(ask(1, { callTimeMs: 20 }), {
        type: 'ModelFailed',
        nonRetryable: false,
        message: 'openai/b did not respond within 20 ms',
      });
      assert.equal((await calls())[0]?.failure, 'openai/b did not respond within 20 ms');
      const { invokeModel } = createModelActivities({ database: fresh.database } as never);
      const bare = { modelId: 'openai/b', options: { prompt: [] } as LanguageModelV4CallOptions };
      await assert.rejects(
        run(() => invokeModel(bare)),
        { nonRetryable: true },
      );
    });
  });

  describe('that call tools', () => {
    const tools = [
      { name: 'add', inputSchema: { type: 'object' } },
      { name: 'safe', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
    ];

    it('record the answer of the tool, or why the service answered instead', async () => {
      const { traces, kept } = keepingTraces();
      const ended: unknown[] = [];
      const sent: unknown[] = [];
      const results: (() => unknown)[] = [
        () => ({ content: [{ type: 'text', text: 'It has the secret' }] }),
        () => ({ content: [{ type: 'text', text: 'It failed' }], isError: true }),
        () => {
          throw new ToolServerError('db: no connection');
        },
      ];
      const servers = {
        list: async () => tools,
        call: async (server: string, tool: string, input: unknown) => {
          sent.push([server, tool, input]);
          return results.shift()?.();
        },
        withoutSecrets: (server: string, text: string) => `${server}: ${text.replace('secret', '***')}`,
      } as unknown as ToolServers;
      const { callTool } = createToolActivities({
        database: fresh.database,
        catalogue: {
          agents: new Map([['ada', { tools: ['db/*'] }]]),
          servers: new Map([['db', { repeatable: ['add'] }]]),
        } as never,
        servers,
        clock: () => AT,
        traces,
        onFault: () => {},
        onCall: ({ failed }) => void ended.push(failed),
      });
      let number = 0;
      const expected: unknown[] = [];
      const call = async (
        name: string,
        input: unknown,
        text: string,
        failure: string | null,
        isError = true,
      ) => {
        number += 1;
        const place = placeOf(number);
        const answer = { text, is_error: isError, truncated: false };
        assert.deepEqual(await run(() => callTool({ agent: 'ada', place, name, input })), answer);
        expected.push({
          step_id: STEP,
          attempt: 4,
          number,
          kind: 'tool',
          name: name.slice(0, 200),
          input,
          output: answer,
          truncated: false,
          usage: null,
          failure,
          started_at: AT.toISOString(),
        });
      };
      await call('db__add', { n: 1 }, 'db: It has the ***', null, false);
      await call('db__add', { n: 2 }, 'db: It failed', null);
      const gone = 'The tool did not respond: db: no connection';
      await call('db__add', { n: 3 }, gone, gone);
      const unknown = `You have no tool ${'x'.repeat(100)}.`;
      await call('x'.repeat(201), { n: 4 }, unknown, unknown);
      for (const input of [[5], null, 'text'])
        await call('db__add', input, 'The arguments must be an object.', 'The arguments must be an object.');
      assert.deepEqual(await calls(), expected);
      assert.deepEqual(ended, [false, true, true, true, true, true, true]);
      assert.deepEqual(
        sent,
        [1, 2, 3].map((n) => ['db', 'add', { n }]),
      );
      assert.deepEqual(kept, [
        [{ kind: 'execute_tool', agent: 'ada', server: 'db', tool: 'add' }, { failure: 'tool_error' }],
      ]);
    });

    it('repeat a call only if the server or the catalogue allows it', async () => {
      const sent: string[] = [];
      const servers = {
        list: async () => [...tools, { name: 'listed', inputSchema: { type: 'object' } }],
        call: async (_server: string, tool: string) => {
          sent.push(tool);
          return { content: [] };
        },
        withoutSecrets: (_server: string, text: string) => text,
      } as unknown as ToolServers;
      const { callTool } = createToolActivities({
        database: fresh.database,
        catalogue: {
          agents: new Map([['ada', { tools: ['db/*'] }]]),
          servers: new Map([['db', { repeatable: ['listed'] }]]),
        } as never,
        servers,
        clock: () => AT,
        traces: UNTRACED_AGENTS,
        onFault: () => {},
      });
      for (const [index, tool] of ['add', 'safe', 'listed'].entries()) {
        const call = { agent: 'ada', place: placeOf(index), name: `db__${tool}`, input: {} };
        const begun = { kind: 'tool' as const, name: call.name, input: {}, truncated: false, startedAt: AT };
        await beginCall(fresh.database, { ...begun, place: call.place }, null);
        const { is_error: isError } = await run(() => callTool(call), { attempt: 2 });
        assert.equal(isError, tool === 'add', tool);
      }
      assert.deepEqual(sent, ['safe', 'listed']);
    });

    it('report each entry of the allow-list that cannot be used', async () => {
      const faults: string[][] = [];
      const { listTools } = createToolActivities({
        catalogue: { agents: new Map([['ada', { tools: ['db/add', 'db/gone'] }]]), servers: new Map() },
        servers: { list: async () => tools },
        onFault: (...fault: string[]) => void faults.push(fault),
      } as never);
      const found = (await run(() => listTools({ agent: 'ada' }))).filter(({ server }) => server !== null);
      assert.deepEqual(
        found.map(({ name }) => name),
        ['db__add'],
      );
      assert.deepEqual(faults, [['ada', 'db: has no tool gone']]);
    });
  });

  describe('of a step', () => {
    const catalogue = () =>
      parseCatalogue(
        `
prices: { anthropic/one: { input: 3, output: 5 }, anthropic/two: { input: 7, output: 7 } }
agents:
  ada: { instructions: Think., model: anthropic/one, tools: [save_artifact, db/add] }
  bob: { instructions: Look., a2a: 'https://example.com' }
servers: { db: { command: db } }
teams: { ${['feature', 'bug', 'spec', 'chore'].map((type) => `${type}: [{ step: a, agent: ada }]`).join(', ')} }`,
        'a test',
      );
    const workOf = (agent: string) => workOn(executionId, agent, 4);
    const activities = () =>
      createStepActivities({
        database: fresh.database,
        catalogue: catalogue(),
        historyEvents: 77,
        clock: () => AT,
      });

    it('record a call that the workflow answered, and its progress', async () => {
      const { noteOwnCall } = activities();
      const step = { name: 'look', agent: 'ada' };
      const call = { step, name: 'report_progress', input: { text: 'Half' } };
      const done = { text: 'noted', is_error: false };
      const wrong = { text: 'not a number', is_error: true };
      const progress = { percent: 50, text: 'Half' };
      await noteOwnCall({ ...call, place: placeOf(1), answer: done, progress });
      await noteOwnCall({
        ...call,
        place: placeOf(2),
        answer: done,
        progress: { ...progress, percent: null },
      });
      await noteOwnCall({ ...call, place: placeOf(3), answer: wrong });
      const common = { step_id: STEP, attempt: 4, kind: 'tool', name: 'report_progress', input: call.input };
      const rest = { truncated: false, usage: null, started_at: AT.toISOString() };
      assert.deepEqual(await calls(), [
        { ...common, number: 1, output: done, ...rest, failure: null },
        { ...common, number: 2, output: done, ...rest, failure: null },
        { ...common, number: 3, output: wrong, ...rest, failure: 'not a number' },
      ]);
      const shown = { id: STEP, ...step, attempt: 4 };
      assert.deepEqual(await events(), [
        ['step.progress', AT.toISOString(), { step: shown, percent: 50, text: 'Half' }],
        ['step.progress', AT.toISOString(), { step: shown, text: 'Half' }],
      ]);
    });

    it('read what an agent needs, or why it cannot work', async () => {
      const { openStep } = activities();
      const opened = await openStep(workOf('ada'));
      assert.ok('brief' in opened);
      const { prompt, ...brief } = opened.brief;
      assert.match(prompt, /A test/);
      const ada = catalogue().agents.get('ada');
      assert.ok(ada);
      assert.deepEqual(brief, {
        model: 'anthropic/one',
        instructions: instructionsFor(ada),
        limits: ada.limits,
        callTimeMs: ada.callTimeMs,
        price: { input: 3, output: 5 },
        ownTools: ['save_artifact'],
        hasServers: true,
        historyEvents: 77,
      });
      for (const agent of ['bob', 'eve'])
        assert.deepEqual(await openStep(workOf(agent)), { error: `agents.yml has no model for ${agent}` });
      const erased = { ...workOf('ada'), executionId: STEP };
      assert.deepEqual(await openStep(erased), { error: 'the task was erased' });
    });

    it('show the first paragraph of a result as its summary', async () => {
      const { leaveResult } = activities();
      const summaryOf = async (text: string) => (await leaveResult(workOf('ada'), text)).summary;
      assert.equal(await summaryOf('\n One\n  line\n \nMore'), 'One line');
      assert.equal(await summaryOf('x'.repeat(280)), 'x'.repeat(280));
      assert.equal(await summaryOf('x'.repeat(281)), `${'x'.repeat(279)}…`);
      const rows = await fresh.database.em
        .fork()
        .execute('select step, agent, attempt, text from step_results where execution_id = ?', [executionId]);
      assert.deepEqual(rows, [{ step: 'look', agent: 'ada', attempt: 4, text: 'x'.repeat(281) }]);
    });

    it('report messages and progress with their numbers', async () => {
      const feed = await createAgentFeed({ database: fresh.database, clock: () => AT }, workOf('ada'));
      feed.message('Hello');
      feed.progress(0, null);
      feed.progress(null, 'Looking');
      feed.progress(90, 'Nearly');
      await feed.flush();
      const rows = await fresh.database.em
        .fork()
        .execute('select key, data from task_events where execution_id = ? order by key', [executionId]);
      const step = { id: STEP, name: 'look', agent: 'ada', attempt: 4 };
      assert.deepEqual(
        rows.map(({ key, data }) => [key, data]),
        [
          [`agent.message:${STEP}:4:1`, { step, text: 'Hello' }],
          [`step.progress:${STEP}:4:1`, { step, percent: 0 }],
          [`step.progress:${STEP}:4:2`, { step, text: 'Looking' }],
          [`step.progress:${STEP}:4:3`, { step, percent: 90, text: 'Nearly' }],
        ],
      );
      assert.ok(MAX_AGENT_MESSAGES > 1);
    });
  });

  describe('that save documents', () => {
    const save = (input: object, stepId = STEP) =>
      createArtifactActivities({ database: fresh.database, clock: () => AT }).saveArtifact({
        place: { executionId, stepId },
        agent: 'ada',
        input: { name: 'a.txt', media_type: 'text/plain', content: 'x', ...input },
      });

    it('store the bytes with their size and hash, and replace one of the same name', async () => {
      const info = { name: 'a.txt', media_type: 'image/png', size: 2 };
      await save({ content: 'old' }, executionId);
      const saved = await save({ media_type: 'image/png', content: 'w7w=', encoding: 'base64' });
      assert.deepEqual(saved, {
        answer: { text: 'saved a.txt, 2 bytes', is_error: false, truncated: false },
        artifact: info,
      });
      assert.deepEqual(
        (await save({ name: 'b.txt', content: 'ü' })).artifact?.size,
        2,
        'bytes, not characters',
      );
      const rows = await fresh.database.em
        .fork()
        .execute('select * from artifacts where execution_id = ? order by name', [executionId]);
      const sha256 = createHash('sha256').update('ü').digest('hex');
      const common = { execution_id: executionId, step_id: STEP, agent: 'ada', size: 2, sha256 };
      assert.deepEqual(
        rows.map(({ content, created_at: at, ...row }) => ({
          ...row,
          text: String(content),
          at: new Date(at),
        })),
        [
          { ...common, name: 'a.txt', media_type: 'image/png', text: 'ü', at: AT },
          { ...common, name: 'b.txt', media_type: 'text/plain', text: 'ü', at: AT },
        ],
      );
    });

    it('refuse one that is too large, one too many, and any after the end', async () => {
      const refusalOf = async (input: object) => {
        const { answer, artifact } = await save(input);
        assert.deepEqual([artifact, answer.is_error], [null, true]);
        return answer.text;
      };
      assert.ok((await save({ content: 'x'.repeat(MAX_ARTIFACT_BYTES) })).artifact);
      assert.match(await refusalOf({ content: 'x'.repeat(MAX_ARTIFACT_BYTES + 1) }), /the limit is/);
      assert.match(await refusalOf({ encoding: 'other' }), /encoding must be/);
      for (let n = 1; n < MAX_ARTIFACTS; n += 1) assert.ok((await save({ name: `${n}.txt` })).artifact);
      assert.match(await refusalOf({ name: 'last.txt' }), /its limit of 20 documents/);
      assert.ok((await save({ content: 'again' })).artifact, 'a new version is not another document');
      await end();
      assert.equal(await refusalOf({}), 'the task has ended');
      executionId = STEP;
      assert.equal(await refusalOf({}), 'the task was erased');
    });
  });

  describe('that run programs', () => {
    /** Runs a program that writes these lines. Returns the outcome and what it left. */
    async function runProgram(lines: object[], settings = '', input: Partial<RemoteAgentInput> = {}) {
      const program = `process.stdin.once('data', () => console.log(${JSON.stringify(
        lines.map((line) => JSON.stringify(line)).join('\n'),
      )}))`;
      const teams = ['feature', 'bug', 'spec', 'chore'].map((type) => `${type}: [{ step: a, agent: ada }]`);
      const catalogue = parseCatalogue(
        `
agents:
  ada: { instructions: Look., command: { run: [${process.execPath}, -e, ${JSON.stringify(program)}], env: [KEY] }${settings} }
teams: { ${teams.join(', ')} }`,
        'a test',
      );
      const { traces, kept } = keepingTraces();
      const { runCommand } = createRemoteAgentActivities({
        database: fresh.database,
        catalogue,
        environment: { PATH: process.env['PATH'], KEY: 'a-long-secret' },
        isolation: NO_ISOLATION,
        fetch: globalThis.fetch,
        clock: () => new Date(),
        traces,
        onDiagnostic: () => {},
        leaveResult: async (work, text) => ({ summary: `summary of ${work.step.name}`, text }),
      });
      const work = workOn(executionId, 'ada', 4);
      const whole = { work, turn: 9, timeLimitMs: MINUTE_MS, ...input };
      const outcome: RemoteOutcome = await run(() => runCommand(whole), { scheduledTimestampMs: Date.now() });
      const [call] = await calls();
      return { outcome, call, kept: kept as [object, object][] };
    }
    const counted = { type: 'usage', input_tokens: 40, output_tokens: 2 };
    const usage = { input_tokens: 40, output_tokens: 2, model_calls: 1 };

    it('record the work as one call, without secrets', async () => {
      const lines = [
        counted,
        { type: 'message', text: 'KEY is a-long-secret' },
        { type: 'result', text: 'a-long-secret' },
      ];
      const { outcome, call, kept } = await runProgram(lines);
      assert.ok(outcome.kind === 'completed');
      const { text } = outcome.result;
      assert.ok(text && !text.includes('a-long-secret'));
      assert.deepEqual(outcome, {
        kind: 'completed',
        result: { summary: 'summary of look', text, usage: null, message: null },
        usage,
      });
      const { input, started_at: startedAt, ...recorded } = call ?? assert.fail('no call');
      assert.match((input as { text: string }).text, /A test/);
      assert.ok(Date.parse(startedAt) > 0);
      assert.deepEqual(recorded, {
        step_id: STEP,
        attempt: 4,
        number: 9,
        kind: 'model',
        name: 'command/ada',
        output: { kind: 'completed', text },
        truncated: false,
        usage: { input_tokens: 40, output_tokens: 2 },
        failure: null,
      });
      assert.deepEqual(kept, [
        [
          { kind: 'invoke_agent', agent: 'ada', backend: 'command' },
          { inputTokens: 40, outputTokens: 2, failure: undefined },
        ],
      ]);
      const messages = (await events()).map(([type, , data]) => [type, (data as { text: string }).text]);
      assert.deepEqual(messages, [['agent.message', `KEY is ${text}`]]);
    });

    const none = { input_tokens: 0, output_tokens: 0, model_calls: 1 };
    const limit = ', limits: { tokens: 41 }';
    const ROWS: [
      what: string,
      lines: object[],
      settings: string,
      outcome: object,
      traced: string | undefined,
    ][] = [
      [
        'escalates',
        [counted, { type: 'escalate', reason: 'Who decides?' }],
        '',
        { kind: 'escalated', reason: 'Who decides?', usage },
        undefined,
      ],
      [
        'fails',
        [{ type: 'error', message: 'x'.repeat(1_001) }],
        '',
        { kind: 'failed', message: 'x'.repeat(1_000), usage: none },
        'failed',
      ],
      [
        'cannot recover',
        [{ type: 'error', message: 'no', recoverable: false }],
        '',
        { kind: 'unrecoverable', message: 'no', usage: none },
        'unrecoverable',
      ],
      [
        'uses too many tokens',
        [counted, { type: 'result', text: 'x' }],
        limit,
        { kind: 'unrecoverable', usage },
        'limit',
      ],
      [
        'uses too many tokens, if that escalates',
        [counted, { type: 'result', text: 'x' }],
        ', limits: { tokens: 41, on_limit: escalate }',
        { kind: 'escalated', usage },
        'limit',
      ],
    ];
    for (const [what, lines, settings, expected, traced] of ROWS) {
      it(`return how a program ends that ${what}`, async () => {
        const { outcome, kept } = await runProgram(lines, settings);
        assert.partialDeepStrictEqual(outcome, expected);
        const record = kept[0]?.[1];
        assert.equal(record && 'failure' in record ? record.failure : undefined, traced);
        if (traced !== 'limit') return;
        const said = outcome.kind === 'escalated' ? outcome.reason : (outcome as { message: string }).message;
        assert.match(said, /^ada .+ before look was done$/);
      });
    }
  });
});
