import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  MAX_DESCRIPTION_LENGTH,
  MAX_EVENT_STREAMS,
  MAX_REASON_LENGTH,
} from '../../src/domain/common/limits.ts';
import { addWorkspace } from '../support/people.ts';
import { useWorld, type Received, type Sent } from '../support/world.ts';
import { keyWith } from './keys.ts';
import { a2aMessage } from './a2a-message.ts';

const VERSION = { 'A2A-Version': '1.0' };
const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;
const TASK_NOT_FOUND = -32_001;
const UNSUPPORTED = -32_004;
const WRONG_TYPE = -32_005;

describe('A2A requests that are refused', function () {
  const world = useWorld();

  const rpc = (method: string, params: unknown, { headers, ...sent }: Sent = {}) =>
    world.send('POST', '/a2a', {
      body: { jsonrpc: '2.0', id: 7, method, params },
      headers: { ...VERSION, ...headers },
      ...sent,
    });
  const rest = (verb: string, path: string, sent: Sent = {}) =>
    world.send(verb, `/a2a${path}`, { ...sent, headers: { ...VERSION, ...sent.headers } });
  const message = (fields: object = {}) => ({
    message: a2aMessage(fields),
    configuration: { returnImmediately: true },
  });
  const submitted = async (rehearsal: object = { steps: 1, step_ms: 60_000 }): Promise<string> =>
    (await rpc('SendMessage', message({ metadata: { rehearsal } }))).json.result.task.id;
  const runs = async () => (await world.send('GET', '/api/v1/tasks')).json.data.length;

  function assertRpcError({ status, json }: Received, code: number, text: RegExp): void {
    assert.equal(status, 200);
    assert.equal(json.jsonrpc, '2.0');
    assert.equal(json.error?.code, code, JSON.stringify(json));
    assert.match(json.error.message, text);
    assert.equal(json.result, undefined);
  }

  function assertRestError({ status, headers, json }: Received, expected: number, reason: string): void {
    assert.equal(status, expected, JSON.stringify(json));
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(json.error.code, expected);
    assert.equal(json.error.details[0].reason, reason);
  }

  it('are requests that are not JSON-RPC', async () => {
    const parse = await world.send('POST', '/a2a', {
      raw: '{"jsonrpc":',
      headers: { ...VERSION, 'Content-Type': 'application/json' },
    });
    assertRpcError(parse, -32_700, /not valid JSON/);
    const bodies = [[], 1, null, {}, { jsonrpc: '1.0', method: 'GetTask' }, { jsonrpc: '2.0', method: 1 }];
    for (const body of bodies)
      assertRpcError(await world.send('POST', '/a2a', { body, headers: VERSION }), -32_600, /JSON-RPC 2\.0/);
    const other = await world.send('POST', '/a2a', {
      raw: '<x/>',
      headers: { ...VERSION, 'Content-Type': 'text/xml' },
    });
    assertRpcError(other, WRONG_TYPE, /application\/json/);
  });

  it('are unknown methods and paths', async () => {
    assertRpcError(await rpc('tasks/get', { id: 'x' }), METHOD_NOT_FOUND, /tasks\/get/);
    assertRpcError(await rpc('toString', {}), METHOD_NOT_FOUND, /toString/);
    const long = `${'x'.repeat(99)}😀`;
    assertRpcError(await rpc(long, {}), METHOD_NOT_FOUND, /^There is no method x{99}\.$/);
    assertRestError(await rest('GET', '/nothing'), 404, 'NOT_FOUND');
    const wrong = await rest('GET', '/message:send');
    assertRestError(wrong, 405, 'METHOD_NOT_ALLOWED');
    assert.equal(wrong.headers.get('allow'), 'POST');
    assert.equal((await world.send('GET', '/a2a')).status, 405);
    const slash = { body: { jsonrpc: '2.0', id: 7, method: 'ListTasks', params: {} }, headers: VERSION };
    assert.deepEqual((await world.send('POST', '/a2a/', slash)).json.result.tasks, []);
  });

  it('have the media type that the client uses', async () => {
    const type = 'application/a2a+json';
    for (const headers of [{ Accept: type }, { 'Content-Type': type }]) {
      const { status, headers: received } = await rest('POST', '/message:send', { raw: '{}', headers });
      assert.equal(status, 400);
      assert.match(received.get('content-type') ?? '', /^application\/a2a\+json/);
    }
  });

  it('are other versions of the protocol', async () => {
    const old = { body: { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } } };
    assertRpcError(await world.send('POST', '/a2a', old), -32_009, /0\.3/);
    assertRpcError(
      await world.send('POST', '/a2a', { ...old, headers: { 'A2A-Version': '9.9' } }),
      -32_009,
      /9\.9/,
    );
    assertRestError(await world.send('GET', '/a2a/tasks'), 400, 'VERSION_NOT_SUPPORTED');
  });

  it('are parameters of the wrong form, which submit nothing', async () => {
    const before = await runs();
    const wrong: [string, unknown][] = [
      ['SendMessage', undefined],
      ['SendMessage', []],
      ['SendMessage', {}],
      ['SendMessage', { message: 'text' }],
      ['SendMessage', message({ messageId: '' })],
      ['SendMessage', message({ role: 'ROLE_AGENT' })],
      ['SendMessage', message({ parts: [] })],
      ['SendMessage', message({ parts: [{}] })],
      ['SendMessage', message({ parts: [{ text: { a: 1 } }] })],
      ['SendMessage', message({ parts: [{ text: 'a', data: {} }] })],
      ['SendMessage', message({ parts: [{ data: [1] }] })],
      ['SendMessage', message({ parts: [{ text: '  ' }] })],
      ['SendMessage', message({ metadata: 'x' })],
      ['SendMessage', message({ metadata: { task_type: 'poem' } })],
      ['SendMessage', message({ metadata: { title: 1 } })],
      ['SendMessage', message({ metadata: { project_id: randomUUID() } })],
      ['SendMessage', message({ metadata: { rehearsal: { nonsense: 1 } } })],
      ['SendMessage', message({ parts: [{ data: { callback_url: 'https://example.com' } }, { text: 'A' }] })],
      ['SendMessage', { ...message(), tenant: 'acme' }],
      ['SendMessage', { ...message(), configuration: { historyLength: -1 } }],
      ['GetTask', {}],
      ['GetTask', { id: 1 }],
      ['ListTasks', { pageSize: 0 }],
      ['ListTasks', { pageSize: 101 }],
      ['ListTasks', { pageToken: 'x' }],
      ['ListTasks', { contextId: 'a\u0000' }],
      ['ListTasks', { status: 'TASK_STATE_LOST' }],
      ['ListTasks', { statusTimestampAfter: 'yesterday' }],
    ];
    for (const [method, params] of wrong) {
      const received = await rpc(method, params);
      assert.equal(received.json.error?.code, INVALID_PARAMS, `${JSON.stringify(params)}: ${received.text}`);
    }
    assertRestError(await rest('GET', '/tasks?pageSize=x'), 400, 'INVALID_PARAMS');
    assertRestError(await rest('POST', '/message:send', { body: {} }), 400, 'INVALID_PARAMS');
    assert.equal(await runs(), before);
  });

  it('are files, and parts that are too large, which submit nothing', async () => {
    const before = await runs();
    const files = [
      { raw: 'aGk=', mediaType: 'image/png', filename: 'a.png' },
      { url: 'https://example.com/a.png' },
      { text: 'x', mediaType: 'image/svg' },
    ];
    for (const part of files)
      assertRpcError(
        await rpc('SendMessage', message({ parts: [{ text: 'See' }, part] })),
        WRONG_TYPE,
        /text/,
      );
    const long = message({ parts: [{ text: `A\n${'x'.repeat(MAX_DESCRIPTION_LENGTH)}` }] });
    assertRpcError(await rpc('SendMessage', long), INVALID_PARAMS, /100000 characters/);
    const huge = await rpc('SendMessage', message({ parts: [{ text: 'x'.repeat(1_100_000) }] }));
    assert.equal(huge.status, 413);
    assert.equal(huge.json.error.data[0].reason, 'PAYLOAD_TOO_LARGE');
    const hugeRest = await rest('POST', '/message:send', {
      body: message({ parts: [{ text: 'x'.repeat(1_100_000) }] }),
    });
    assertRestError(hugeRest, 413, 'PAYLOAD_TOO_LARGE');
    assert.equal(await runs(), before);
  });

  it('are tasks that do not exist, or belong to others', async () => {
    const id = await submitted();
    const stranger = { key: await addWorkspace(world) };
    for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask']) {
      for (const unknown of [randomUUID(), 'not-a-uuid', id.toUpperCase()])
        assertRpcError(await rpc(method, { id: unknown }), TASK_NOT_FOUND, /does not exist/);
      assertRpcError(await rpc(method, { id }, stranger), TASK_NOT_FOUND, /does not exist/);
    }
    assertRpcError(
      await rpc('SendMessage', message({ taskId: id }), stranger),
      TASK_NOT_FOUND,
      /does not exist/,
    );
    assertRestError(await rest('GET', `/tasks/${id}`, stranger), 404, 'TASK_NOT_FOUND');
    assertRestError(await rest('POST', `/tasks/${id}:cancel`, stranger), 404, 'TASK_NOT_FOUND');
    assert.deepEqual((await rpc('ListTasks', {}, stranger)).json.result.tasks, []);
    await rpc('CancelTask', { id });
  });

  it('are messages to a task that does not ask, or asks something else', async () => {
    const working = await submitted();
    assertRpcError(await rpc('SendMessage', message({ taskId: working })), UNSUPPORTED, /does not wait/);
    await rpc('CancelTask', { id: working });
    const asking = await submitted({ steps: 1, ask: { step: 1, question: 'Why?' } });
    await world.reaches(asking, 'paused');
    const to = (fields: object) => rpc('SendMessage', message({ taskId: asking, ...fields }));
    assertRpcError(await to({ metadata: { question: '2' } }), UNSUPPORTED, /question 2 is not open/);
    assertRpcError(await to({ contextId: 'another' }), INVALID_PARAMS, /another context/);
    assertRpcError(await to({ parts: [{ data: { a: 1 } }] }), WRONG_TYPE, /must be text/);
    const long = await to({ parts: [{ text: 'x'.repeat(MAX_REASON_LENGTH + 1) }] });
    assertRpcError(long, INVALID_PARAMS, /1000 characters/);
    assertRpcError(await to({ parts: [{ text: 'a\u0000' }] }), INVALID_PARAMS, /NUL/);
    assert.equal((await world.send('GET', `/api/v1/tasks/${asking}`)).json.state, 'paused');
    await rpc('CancelTask', { id: asking });
  });

  it('are requests without a credential, or without the scope', async () => {
    const none = await rpc('ListTasks', {}, { key: null });
    assert.equal(none.status, 401);
    assert.match(none.headers.get('www-authenticate') ?? '', /ApiKey/);
    assert.equal(none.json.error.data[0].reason, 'UNAUTHENTICATED');
    assertRestError(await rest('GET', '/tasks', { key: 'bt_wrong' }), 401, 'UNAUTHENTICATED');
    assertRestError(await rest('GET', '/extendedAgentCard', { key: null }), 401, 'UNAUTHENTICATED');
    const reader = { key: await keyWith(world, ['tasks:read']) };
    const before = await runs();
    const refused = await rpc('SendMessage', message(), reader);
    assert.equal(refused.status, 403);
    assert.match(refused.json.error.message, /tasks:write/);
    assertRestError(await rest('POST', '/message:stream', { ...reader, body: message() }), 403, 'FORBIDDEN');
    assert.equal((await rpc('ListTasks', {}, reader)).status, 200);
    assert.equal(await runs(), before);
  });

  it('are too many streams, which submit nothing', async () => {
    const id = await submitted();
    const streams = Array.from({ length: MAX_EVENT_STREAMS }, () => new AbortController());
    const key = world.installation.api_key;
    const responses: Response[] = [];
    for (const { signal } of streams) {
      const response = await fetch(`${world.api.url}/a2a/tasks/${id}:subscribe`, {
        headers: { ...VERSION, 'X-API-Key': key },
        signal,
      });
      assert.equal(response.status, 200);
      responses.push(response);
    }
    const before = await runs();
    const refused = await rest('POST', '/message:stream', { body: message() });
    assertRestError(refused, 429, 'RATE_LIMITED');
    assert.equal(await runs(), before);
    assert.ok(responses.every(({ bodyUsed }) => !bodyUsed));
    for (const stream of streams) stream.abort();
    await rpc('CancelTask', { id });
  });

  it('are none for the public card; the extended one names the teams', async () => {
    const card = await world.send('GET', '/.well-known/agent-card.json', { key: null });
    assert.equal(card.status, 200);
    assert.deepEqual(
      card.json.skills.map(({ id }: { id: string }) => id),
      ['feature', 'bug', 'spec', 'chore'],
    );
    const again = await world.send('GET', '/.well-known/agent-card.json', {
      key: null,
      headers: { 'If-None-Match': card.headers.get('etag') ?? '', 'Cache-Control': 'max-age=0' },
    });
    assert.equal(again.status, 304);
    const { json } = await rest('GET', '/extendedAgentCard');
    assert.match(json.skills[0].description, /Steps: .+ \(.+\)/);
    assert.deepEqual((await rpc('GetExtendedAgentCard', undefined)).json.result, json);
  });
});
