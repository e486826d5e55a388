import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { sampleData } from '../../src/domain/webhooks/event-samples.ts';
import { eventually } from '../support/eventually.ts';
import { useOwnWorld, useWorld, type World } from '../support/world.ts';
import { post } from './client.ts';

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const callOf = (name: string, args: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});

/** Calls a tool and returns its structured content. */
async function called(world: World, name: string, args: object, requestId = '') {
  const { text } = await post(world, callOf(name, args), { headers: { 'X-Request-Id': requestId } });
  return JSON.parse(text.slice(text.indexOf('{'))).result.structuredContent;
}

describe('requests to the MCP endpoint that are refused', () => {
  const world = useWorld();

  it('have no credential, a wrong one, or only a session', async () => {
    const cookie = await world.signIn();
    for (const sent of [{ key: null }, { key: 'baton_wrong' }, world.as(cookie)]) {
      const { status, json, headers } = await post(world, LIST, sent);
      assert.deepEqual([status, json.error.data.code], [401, 'unauthenticated']);
      assert.match(headers.get('www-authenticate') ?? '', /^Bearer realm=/);
    }
    const metadata = '/.well-known/oauth-protected-resource/mcp';
    assert.equal((await world.send('GET', metadata, { key: null })).status, 404);
  });

  it('come from a page of another origin', async () => {
    const foreign = await post(world, LIST, { headers: { Origin: 'https://example.com' } });
    assert.deepEqual([foreign.status, foreign.json.error.data.code], [403, 'forbidden']);
    assert.equal((await post(world, LIST, { headers: { Origin: world.api.url } })).status, 200);
  });

  it('are too large, or not JSON', async () => {
    const large = await post(world, { ...LIST, params: { text: 'x'.repeat(1_100_000) } });
    assert.deepEqual([large.status, large.json.error.data.code], [413, 'payload_too_large']);
    const broken = await post(world, null, { raw: '{"jsonrpc":' });
    assert.deepEqual([broken.status, broken.json.error.code], [400, -32_700]);
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    assert.equal((await post(world, null, { raw: 'a=b', headers })).status, 415);
  });

  it('have another method, also with a body', async () => {
    for (const method of ['GET', 'HEAD', 'DELETE', 'PUT', 'PATCH', 'TRACE']) {
      for (const body of ['', JSON.stringify(LIST)]) {
        const { statusCode, headers } = await sendRaw(world, method, body);
        assert.deepEqual([statusCode, headers.allow], [405, 'OPTIONS, POST'], `${method} ${body}`);
      }
    }
    const options = await sendRaw(world, 'OPTIONS', '');
    assert.deepEqual([options.statusCode, options.headers.allow], [204, 'OPTIONS, POST']);
  });

  it('name a method that does not exist', async () => {
    const { text } = await post(world, { jsonrpc: '2.0', id: 7, method: 'tasks/erase', params: {} });
    assert.match(text, /"code":-32601/);
  });

  it('contain several messages, and none of them has an effect', async () => {
    const title = randomUUID();
    const one = callOf('submit_task', { title });
    for (const batch of [[], [one], [one, { ...one, id: 2 }]]) {
      const { status, json } = await post(world, batch);
      assert.deepEqual([status, json.error.code, json.error.data.code], [400, -32_600, 'bad_request']);
    }
    const { json } = await world.send('GET', '/api/v1/tasks');
    assert.ok(json.data.every((task: { title: string }) => task.title !== title));
  });

  it('have a version of the protocol that is not served', async () => {
    const initialize = (protocolVersion: string) => ({
      ...LIST,
      method: 'initialize',
      params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    });
    for (const [asked, answered] of [
      ['2025-11-25', '2025-11-25'],
      ['2025-06-18', '2025-06-18'],
      ['2025-03-26', '2025-11-25'],
    ] as const) {
      const { text } = await post(world, initialize(asked));
      assert.ok(text.includes(`"protocolVersion":"${answered}"`), text);
    }
    const old = await post(world, LIST, { headers: { 'MCP-Protocol-Version': '2025-03-26' } });
    assert.equal(old.status, 400);
  });
});

/** Sends a request of any method, which `fetch` does not allow. */
async function sendRaw(world: World, method: string, body: string): Promise<IncomingMessage> {
  const headers = {
    'X-API-Key': world.installation.api_key,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  };
  const sent = request(`${world.api.url}/mcp`, { method, headers }).end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  await buffer(response);
  return response;
}

describe('requests to the MCP endpoint', () => {
  const world = useWorld();

  it('keep numbers and the order of fields as they were sent', async () => {
    const body = { name: 'A', url: 'https://127.0.0.1:9/', events: [{ event: 'issue.deleted' }] };
    const { json: webhook } = await world.send('POST', '/api/v1/webhooks', { body });
    const data = '{"issue":{"id":"1","b":1.10,"10":9223372036854775808,"a":1e2}}';
    const message = JSON.stringify(callOf('send_event', { event: 'issue.deleted', data: 'DATA' }));
    await post(world, null, { raw: message.replace('"DATA"', data) });
    await eventually('the event is delivered as it was sent', async () => {
      const { json } = await world.send('GET', `/api/v1/webhooks/${webhook.id}/deliveries`);
      const { text } = await world.send('GET', `/api/v1/deliveries/${json.data[0]?.id}`);
      return text.includes(JSON.stringify(data).slice(1, -1));
    });
  });

  it('cannot submit numbers that cannot be returned exactly', async () => {
    const message = JSON.stringify(callOf('submit_task', { title: 'Exact', metadata: 'METADATA' }));
    const { text } = await post(world, null, {
      raw: message.replace('"METADATA"', '{"a":9007199254740993}'),
    });
    assert.match(text, /number_not_exact/);
  });

  it('are logged with the operation and the id of what it is about, as over HTTP', async () => {
    const body = { name: 'A', url: 'https://127.0.0.1:9/', events: [{ event: 'issue.deleted' }] };
    const { json: webhook } = await world.send('POST', '/api/v1/webhooks', { body });
    const logged = randomUUID();
    const metadata = { rehearsal: { steps: 1 } };
    const { execution_id: task } = await called(world, 'submit_task', { title: 'A', metadata }, logged);
    await called(world, 'get_task', { execution_id: task }, logged);
    await called(world, 'list_deliveries', { id: webhook.id }, logged);
    const absent = randomUUID();
    await called(world, 'get_delivery', { id: absent }, logged);
    await called(world, 'list_tasks', {}, logged);
    await world.reaches(task, 'completed');
    const { execution_id: rerun } = await called(world, 'rerun_task', { execution_id: task }, logged);
    assert.notEqual(rerun, task);
    const lines = world
      .logged()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ request_id, msg }) => request_id === logged && msg === 'request')
      .map(({ operation, execution_id, webhook_id, delivery_id }) => [
        operation,
        execution_id ?? webhook_id ?? delivery_id,
      ]);
    assert.deepEqual(lines, [
      ['submitTask', task],
      ['readTask', task],
      ['listDeliveries', webhook.id],
      ['readDelivery', absent],
      ['listTasks', undefined],
      ['rerunTask', task],
    ]);
  });
});

describe('the rate limit of the MCP endpoint', () => {
  const environment = { RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '5' };
  const world = useOwnWorld({ worker: false, environment });

  it('counts an event in the limit of events only, and other requests in that of the credential', async () => {
    const data = sampleData('issue.deleted');
    for (let sent = 0; sent < 20; sent += 1) {
      const { status, headers } = await post(world, callOf('send_event', { event: 'issue.deleted', data }));
      assert.equal(status, 200);
      assert.match(headers.get('ratelimit-policy') ?? '', /^"events"/);
    }
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(world, LIST)));
    const refused = answers.find(({ status }) => status === 429);
    assert.equal(refused?.json.error.data.code, 'rate_limited');
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.ok(answers.some(({ status }) => status === 200));
  });
});
