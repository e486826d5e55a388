import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { teamText } from '../agents/model-world.ts';
import { startA2aAgent, type A2aAgent } from '../support/a2a-agent.ts';
import { startCallbackReceiver } from '../support/callback-receiver.ts';
import { startHttpMcpServer, type HttpMcpServer } from '../support/mcp-http.ts';
import { modelSettings, startModelServer, turnOf, type ModelServer } from '../support/model-server.ts';
import { type ReceivedRequest, type Receiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import { startCollector, type CollectedSpan, type Collector } from './collector.ts';
import { startObserved, WEBHOOK, type ObservedService } from './observed.ts';

const PARTS = ['api', 'task-worker', 'delivery-worker'] as const;
const SECRET = 'a-secret-of-the-webhook';
const MODEL_KEY = 'a-key-of-the-models';
const COMMAND_AGENT = join(import.meta.dirname, '../support/command-agent.ts');
const MARKER = `words-that-stay-here-${randomBytes(8).toString('hex')}`;

/** Creates a span of a caller, and the headers that contain it. */
export function callersTrace() {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-01` } };
}

/** Ada has a model and a tool. Bob is a remote agent, Eve a program. */
const agentsText = (tools: HttpMcpServer, remote: A2aAgent) =>
  teamText({
    limits: '{}, tools: [small/add]',
    chore: `{}, command: [${process.execPath}, ${COMMAND_AGENT}]`,
    more: `servers: { small: { url: ${tools.url} } }`,
  }).replace('You are Bob.', `You are Bob., a2a: '${remote.url}'`);

const traceIdIn = ({ headers }: ReceivedRequest) => String(headers['traceparent']).split('-')[1];
/** Returns the attributes of the conventions for generative AI. */
const genAiOf = (attributes: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(attributes).filter(([name]) => name.startsWith('gen_ai.')));
const spanIdIn = ({ headers }: ReceivedRequest) => String(headers['traceparent']).split('-')[2];

/** Registers the tests of traces through a service with these payloads in Temporal, whose name `serviceName` replaces. */
export function describeTraces(payloads: 'unencrypted' | 'encrypted', serviceName?: string): void {
  describe(`traces, with ${payloads} payloads in Temporal`, function () {
    this.timeout(180_000);
    let collector: Collector;
    let service: ObservedService;
    let receiver: Receiver;
    let models: ModelServer;
    let tools: HttpMcpServer;
    let remote: A2aAgent;
    const folder = mkdtempSync(join(tmpdir(), 'baton-agents-'));

    before(async () => {
      collector = await startCollector();
      models = await startModelServer((asked) =>
        turnOf(asked) === 1
          ? { calls: [{ name: 'small__add', arguments: { a: 1, b: 2 } }], tokens: [50, 7] }
          : { text: `Done: ${MARKER}`, tokens: [60, 8] },
      );
      tools = await startHttpMcpServer();
      remote = await startA2aAgent({ streaming: true });
      writeFileSync(join(folder, 'agents.yml'), agentsText(tools, remote));
      receiver = await startCallbackReceiver();
      service = await startObserved(
        {
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
          OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector-token',
          OTEL_BSP_SCHEDULE_DELAY: '100',
          AGENTS_FILE: join(folder, 'agents.yml'),
          ...modelSettings(models, MODEL_KEY),
          ...(payloads === 'encrypted'
            ? { BATON_PAYLOAD_KEYS: `p:${randomBytes(32).toString('base64')}` }
            : {}),
          ...(serviceName === undefined ? {} : { OTEL_SERVICE_NAME: serviceName }),
        },
        PARTS,
      );
      const webhook = { ...WEBHOOK, name: 'Traced', secret: SECRET, url: `${receiver.url}/hook/${MARKER}` };
      assert.equal((await service.send('POST', '/api/v1/webhooks', webhook)).status, 201);
    });
    after(async () => {
      await service?.close();
      await receiver?.close();
      await models?.close();
      await tools?.close();
      await remote?.close();
      await collector?.close();
      rmSync(folder, { recursive: true });
    });

    /** Returns the service name in the spans of a process. */
    const nameOf = (name: string) => serviceName ?? name;
    const spansIn = (traceId: string) => collector.spans.filter((span) => span.traceId === traceId);

    /** Returns the names of the spans from this one up to the root. */
    function upwards(spans: readonly CollectedSpan[], from: CollectedSpan): string[] {
      const parent = spans.find(({ spanId }) => spanId === from.parentSpanId);
      return [from.name, ...(parent ? upwards(spans, parent) : [])];
    }

    /** Waits for the span of the attempt that sent the request, and for all its ancestors. */
    async function chainTo(
      request: ReceivedRequest,
      end: string,
    ): Promise<{ chain: string[]; spans: CollectedSpan[] }> {
      const traceId = traceIdIn(request) ?? '';
      return await eventually(`a whole trace of ${end}`, () => {
        const spans = spansIn(traceId);
        const attempt = spans.find(({ spanId }) => spanId === spanIdIn(request));
        const chain = attempt ? upwards(spans, attempt) : [];
        return chain.at(-1) === end && { chain, spans };
      });
    }

    it('connect a submission with its workflow, its steps and its callback', async () => {
      const before = receiver.requests.length;
      const caller = callersTrace();
      const task = {
        title: MARKER,
        project_id: service.installation.project_id,
        callback_url: `${receiver.url}/callback/${MARKER}?token=${MARKER}`,
        metadata: { rehearsal: { steps: 1, step_ms: 300 } },
      };
      const answer = await service.send('POST', '/api/v1/tasks', task, caller.headers);
      assert.equal(answer.status, 201);
      const { execution_id: id, callback_secret: secret } = (await answer.json()) as Record<string, string>;
      const [request] = (await receiver.receives(before + 1)).slice(before);
      assert.ok(request);
      assert.equal(traceIdIn(request), caller.traceId);
      const { chain, spans } = await chainTo(request, 'POST /api/v1/tasks');
      assert.deepEqual(chain, [
        'POST callback',
        'activity endRun',
        'workflow taskRun',
        'start taskRun',
        'POST /api/v1/tasks',
      ]);
      const root = spans.find(({ name }) => name === 'POST /api/v1/tasks');
      assert.deepEqual(
        [root?.parentSpanId, root?.kind, root?.of, root?.attributes['http.response.status_code']],
        [caller.spanId, 'SERVER', nameOf('baton-api'), 201],
      );
      assert.equal(root?.attributes['baton.request_id'], answer.headers.get('x-request-id'));
      const step = await eventually(
        'the span of the step',
        () => spansIn(caller.traceId).find(({ name }) => name === 'activity rehearse') ?? null,
      );
      assert.deepEqual([step.of, step.attributes['baton.execution_id']], [nameOf('baton-task-worker'), id]);
      assert.ok(upwards(spansIn(caller.traceId), step).includes('workflow taskRun'));
      const expected = createHmac('sha256', secret ?? '')
        .update(request.body)
        .digest('hex');
      assert.ok(String(request.headers['x-service-signature']).includes(expected));
      assert.ok(!collector.bytes().includes(secret ?? 'missing'));
    });

    it('connect an event with its delivery and a manual retry', async () => {
      const refused = receiver.requests.length;
      receiver.answering(500);
      const caller = callersTrace();
      const event = { event: 'issue.created', data: { issue: { id: '1', title: MARKER } } };
      assert.equal((await service.send('POST', '/api/v1/events', event, caller.headers)).status, 202);
      const [request] = (await receiver.receives(refused + 1)).slice(refused);
      assert.ok(request);
      assert.equal(traceIdIn(request), caller.traceId);
      const { chain, spans } = await chainTo(request, 'POST /api/v1/events');
      assert.deepEqual(chain, [
        'POST webhook',
        'activity dispatchGroup',
        'workflow dispatchEvents',
        'start dispatchEvents',
        'POST /api/v1/events',
      ]);
      const attempt = spans.find(({ name }) => name === 'POST webhook');
      const delivery = String(request.headers['x-service-delivery']);
      assert.equal(attempt?.attributes['baton.delivery_id'], delivery);
      assert.equal(attempt?.attributes['http.response.status_code'], 500);
      assert.deepEqual([attempt?.failed, attempt?.attributes['error.type']], [true, 'status']);
      assert.equal(attempt?.attributes['server.address'], 'localhost');
      const line = await eventually(
        'the line of the failure',
        () =>
          PARTS.flatMap((name) => service.logged(name)).find(
            ({ delivery_id: id, failure }) => id === delivery && failure !== undefined,
          ) ?? null,
      );
      assert.deepEqual(
        [line['trace_id'], line['failure'], line['response_status']],
        [caller.traceId, 'status', 500],
      );
      assert.equal(
        request.headers['x-service-signature'],
        `sha256=${createHmac('sha256', SECRET).update(request.body).digest('hex')}`,
      );

      receiver.answering(204);
      const retrying = callersTrace();
      await eventually('the failure is recorded', async () => {
        const path = `/api/v1/deliveries/${delivery}/retry`;
        return (await service.send('POST', path, {}, retrying.headers)).status === 202;
      });
      const [again] = (await receiver.receives(refused + 2)).slice(refused + 1);
      assert.ok(again);
      assert.equal(traceIdIn(again), caller.traceId, "the retry is part of the event's trace");
      assert.notEqual(spanIdIn(again), spanIdIn(request));
      const second = await eventually(
        'the second attempt',
        () => spansIn(caller.traceId).find(({ spanId }) => spanId === spanIdIn(again)) ?? null,
      );
      assert.deepEqual(
        second.links.map(({ traceId }) => traceId),
        [retrying.traceId],
        'the retry is linked to the request that caused it',
      );
      const attempts = await eventually('both attempts are recorded', async () => {
        const shown = await service.send('GET', `/api/v1/deliveries/${delivery}`);
        const { attempts: recorded } = (await shown.json()) as {
          attempts: { request: { headers: Record<string, string> } }[];
        };
        return recorded.length === 2 && recorded;
      });
      assert.deepEqual(
        attempts.map(({ request: { headers } }) => headers['traceparent']).toSorted(),
        [request, again].map(({ headers }) => headers['traceparent']).toSorted(),
        'the log shows what was sent',
      );
    });

    it('are separate for the events of one group', async () => {
      const before = receiver.requests.length;
      const callers = Array.from({ length: 30 }, callersTrace);
      const answers = await Promise.all(
        callers.map(({ traceId, headers }) => {
          const event = { id: traceId, event: 'issue.created', data: { issue: { id: traceId } } };
          return service.send('POST', '/api/v1/events', event, headers);
        }),
      );
      assert.ok(answers.every(({ status }) => status === 202));
      const requests = (await receiver.receives(before + 30)).slice(before);
      for (const request of requests) {
        const { id } = JSON.parse(request.body.toString()) as { id: string };
        assert.equal(traceIdIn(request), id);
      }
    });

    /** Submits a task, and waits for the spans with these names. */
    async function spansOfTask(task: object, names: string[]): Promise<(name: string) => CollectedSpan[]> {
      const caller = callersTrace();
      const body = { ...task, project_id: service.installation.project_id };
      assert.equal((await service.send('POST', '/api/v1/tasks', body, caller.headers)).status, 201);
      const named = (name: string) => spansIn(caller.traceId).filter((span) => span.name === name);
      await eventually(`the spans ${names.join(', ')}`, () => names.every((name) => named(name).length > 0));
      return named;
    }

    it('contain agents, models and tools by the conventions for generative AI', async () => {
      const task = { title: MARKER, description: MARKER, task_type: 'bug' };
      const expected = ['workflow agentStep', 'workflow taskRun', 'start taskRun', 'POST /api/v1/tasks'];
      const named = await spansOfTask(task, ['execute_tool add', 'activity callTool', ...expected]);
      const [agent] = named('workflow agentStep');
      const model = { 'gen_ai.provider.name': 'openai-compatible', 'gen_ai.request.model': 'test' };
      const { 'baton.execution_id': id, ...attributes } = agent?.attributes ?? {};
      assert.deepEqual(genAiOf(attributes), {
        ...model,
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'ada',
        'gen_ai.usage.input_tokens': 110,
        'gen_ai.usage.output_tokens': 15,
      });
      const [call] = named('activity invokeModel');
      assert.deepEqual(
        ['baton.model', 'baton.agent', 'baton.execution_id'].map((name) => call?.attributes[name]),
        ['openai-compatible/test', 'ada', id],
      );
      const [chat, ...more] = named('chat test');
      assert.ok(chat);
      assert.equal(more.length, 1);
      assert.equal(chat.kind, 'CLIENT');
      const { 'gen_ai.response.id': response, ...shown } = genAiOf(chat.attributes);
      assert.match(String(response), /^chatcmpl-/);
      assert.deepEqual(shown, {
        ...model,
        'gen_ai.operation.name': 'chat',
        'gen_ai.agent.name': 'ada',
        'gen_ai.response.model': 'test',
        'gen_ai.response.finish_reasons': ['tool-calls'],
        'gen_ai.usage.input_tokens': 50,
        'gen_ai.usage.cache_read.input_tokens': 0,
        'gen_ai.usage.output_tokens': 7,
        'gen_ai.usage.reasoning.output_tokens': 0,
      });
      const all = spansIn(chat.traceId);
      assert.deepEqual(upwards(all, chat), ['chat test', 'activity invokeModel', ...expected]);
      const [tool] = named('execute_tool add');
      assert.ok(tool);
      assert.deepEqual(genAiOf(tool.attributes), {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.agent.name': 'ada',
        'gen_ai.tool.name': 'add',
      });
      assert.equal(tools.traces.at(-1), `00-${tool.traceId}-${tool.spanId}-01`, 'sent in `_meta`');
      assert.deepEqual(upwards(all, tool), ['execute_tool add', 'activity callTool', ...expected]);
    });

    it('contain agents that are programs', async () => {
      const task = { title: 'tells', task_type: 'chore' };
      const named = await spansOfTask(task, ['invoke_agent eve', 'activity runCommand']);
      const [agent] = named('invoke_agent eve');
      assert.equal(agent?.kind, 'INTERNAL');
      assert.deepEqual(genAiOf(agent.attributes), {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'eve',
        'gen_ai.provider.name': 'command',
        'gen_ai.usage.input_tokens': 7,
        'gen_ai.usage.output_tokens': 3,
      });
      assert.equal(agent.parentSpanId, named('activity runCommand')[0]?.spanId);
    });

    it('contain remote agents, which get the trace in the `traceparent` header', async () => {
      const named = await spansOfTask({ title: MARKER, task_type: 'feature' }, ['invoke_agent bob']);
      const [agent] = named('invoke_agent bob');
      assert.ok(agent);
      assert.equal(genAiOf(agent.attributes)['gen_ai.provider.name'], 'a2a');
      assert.deepEqual([...remote.traces], [`00-${agent.traceId}-${agent.spanId}-01`]);
    });

    it('continue the trace in `_meta` of a message of MCP, and link the request', async () => {
      const before = receiver.requests.length;
      const caller = callersTrace();
      const event = { event: 'issue.created', data: { issue: { id: '1', title: MARKER } } };
      const callTool = (name: string, args: object, _meta: object) => {
        const message = {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name, arguments: args, _meta },
        };
        const headers = { Accept: 'application/json, text/event-stream' };
        return service.send('POST', '/mcp', message, headers);
      };
      const answer = await callTool('send_event', event, { ...caller.headers, tracestate: 'vendor=1' });
      assert.match(await answer.text(), /"duplicate":false/);
      const [request] = (await receiver.receives(before + 1)).slice(before);
      assert.ok(request);
      assert.equal(traceIdIn(request), caller.traceId);
      const { chain, spans } = await chainTo(request, 'tools/call send_event');
      assert.deepEqual(chain, [
        'POST webhook',
        'activity dispatchGroup',
        'workflow dispatchEvents',
        'start dispatchEvents',
        'tools/call send_event',
      ]);
      const message = spans.find(({ name }) => name === 'tools/call send_event');
      assert.deepEqual(
        [message?.parentSpanId, message?.kind, message?.attributes['mcp.method.name']],
        [caller.spanId, 'SERVER', 'tools/call'],
      );
      const carrier = await eventually(
        'the span of the request',
        () => collector.spans.find(({ spanId }) => spanId === message?.links[0]?.spanId) ?? null,
      );
      assert.equal(carrier.name, 'POST /mcp');

      const refused = await callTool('send_event', { event: 'nonsense' }, { traceparent: 'nonsense' });
      assert.match(await refused.text(), /"isError":true/);
      const failed = await eventually(
        'the span of the refused call',
        () =>
          collector.spans.find(({ name, failed: hasFailed }) => name === message?.name && hasFailed) ?? null,
      );
      assert.equal(failed.attributes['error.type'], 'tool_error');
      const parent = await eventually(
        'its parent',
        () => collector.spans.find(({ spanId }) => spanId === failed.parentSpanId) ?? null,
      );
      assert.equal(parent.name, 'POST /mcp', 'an invalid `traceparent` is ignored');
    });

    it('contain no secrets, no texts of users and no URL queries', async () => {
      const { api_key: key } = service.installation;
      await eventually('the spans are received', () => collector.spans.length > 50);
      const everything = collector.bytes();
      for (const secret of [SECRET, MODEL_KEY, 'You are Ada', MARKER, key, 'collector-token']) {
        assert.ok(!everything.includes(secret), `${secret} is in a span`);
      }
      const rest = PARTS.flatMap((name) => service.logged(name)).map((line) => JSON.stringify(line));
      for (const secret of [SECRET, MODEL_KEY, key, 'collector-token']) {
        assert.ok(!rest.some((line) => line.includes(secret)), `${secret} is in a log`);
      }
    });

    it('are referenced in log lines with the ids of the request and the run', async () => {
      const caller = callersTrace();
      const task = {
        title: 'Another',
        project_id: service.installation.project_id,
        metadata: { rehearsal: {} },
      };
      const answer = await service.send('POST', '/api/v1/tasks', task, caller.headers);
      const { execution_id: id } = (await answer.json()) as { execution_id: string };
      const line = await eventually(
        'the line of the request',
        () => service.logged('api').find(({ trace_id: traceId }) => traceId === caller.traceId) ?? null,
      );
      assert.deepEqual(
        [line['request_id'], line['execution_id'], line['route'], line['status']],
        [answer.headers.get('x-request-id'), id, '/api/v1/tasks', 201],
      );
    });

    it('have a new root if a caller sends an invalid traceparent', async () => {
      const headers = { traceparent: '00-00000000000000000000000000000000-0000000000000000-01' };
      const sent = { ...headers, 'X-Request-Id': `nonsense-${payloads.length}` };
      await service.send('GET', '/api/v1/webhooks', undefined, sent);
      const span = await eventually(
        'the span',
        () =>
          collector.spans.find(({ attributes }) => attributes['baton.request_id'] === sent['X-Request-Id']) ??
          null,
      );
      assert.equal(span.parentSpanId, '');
      assert.match(span.traceId, /[1-9a-f]/);
    });
  });
}
