import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { ServerCallContext } from '@a2a-js/sdk/server';
import {
  MAX_A2A_CONTEXT_ID_LENGTH,
  MAX_A2A_DEPTH,
  MAX_A2A_INLINE_BYTES,
  MAX_A2A_MESSAGE_ID_LENGTH,
  MAX_A2A_PAGE_BYTES,
  MAX_A2A_PARTS,
  MAX_ARTIFACTS,
  MAX_EVENT_STREAMS,
  MAX_METADATA_BYTES,
  MAX_METADATA_DEPTH,
  MAX_WAITING_REQUESTS,
} from '../../src/domain/common/limits.ts';
import { createRequestHandler, type A2aDependencies } from '../../src/api/a2a/handler.ts';
import type { Caller } from '../../src/api/http/caller.ts';
import { createTaskLimits } from '../../src/api/tasks/task-limits.ts';
import { messageWith } from '../support/a2a-client.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver } from '../support/receiver.ts';
import { services } from '../support/services.ts';
import { useWorld, type World } from '../support/world.ts';
import { a2aMessage } from './a2a-message.ts';

const VERSION = { 'A2A-Version': '1.0' };
const INVALID_PARAMS = -32_602;

const rpc = (world: World, method: string, params: unknown) =>
  world.send('POST', '/a2a', { body: { jsonrpc: '2.0', id: 7, method, params }, headers: VERSION });
const message = (fields: object = {}) => ({
  message: a2aMessage(fields),
  configuration: { returnImmediately: true },
});
const submitted = async (world: World, rehearsal: object, fields: object = {}): Promise<string> =>
  (await rpc(world, 'SendMessage', message({ metadata: { rehearsal }, ...fields }))).json.result.task.id;
const runs = async (world: World) => (await world.send('GET', '/api/v1/tasks?limit=200')).json.data.length;
const nested = (levels: number): object => (levels === 0 ? {} : { a: nested(levels - 1) });

describe('A2A messages', function () {
  const world = useWorld();

  it('are accepted up to their limits', async () => {
    const parts = Array.from({ length: MAX_A2A_PARTS }, (_, index) => ({ text: `${index}` }));
    const contextId = 'c'.repeat(MAX_A2A_CONTEXT_ID_LENGTH);
    const metadata = { rehearsal: { steps: 1 }, a: nested(MAX_METADATA_DEPTH - 2) };
    const messageId = 'm'.repeat(MAX_A2A_MESSAGE_ID_LENGTH - 36) + randomUUID();
    const { json } = await rpc(world, 'SendMessage', message({ parts, contextId, messageId, metadata }));
    assert.equal(json.result?.task.contextId, contextId, JSON.stringify(json));
    assert.equal(json.result.task.metadata.title, '0');
  });

  it('can have the names of the definition of the protocol', async () => {
    const sent = {
      message: {
        message_id: randomUUID(),
        context_id: 'a-context',
        role: 'ROLE_USER',
        parts: [{ text: 'A task', media_type: 'text/plain' }],
        metadata: { rehearsal: { steps: 1 }, own_name: { in_it: 1 } },
      },
      configuration: { return_immediately: true, history_length: 0 },
    };
    const { task } = (await rpc(world, 'SendMessage', sent)).json.result;
    assert.equal(task.contextId, 'a-context');
    const { metadata } = (await world.send('GET', `/api/v1/tasks/${task.id}`)).json;
    assert.deepEqual(metadata.own_name, { in_it: 1 });
    const listed = await rpc(world, 'ListTasks', { context_id: 'a-context', page_size: 1 });
    assert.equal(listed.json.result.pageSize, 1);
    assert.equal((await rpc(world, 'ListTasks', { page_size: 0 })).json.error.code, INVALID_PARAMS);
  });

  it('submit nothing beyond their limits', async () => {
    const before = await runs(world);
    const beyond: [object, RegExp][] = [
      [{ parts: Array.from({ length: MAX_A2A_PARTS + 1 }, () => ({ text: 'a' })) }, /parts/],
      [{ messageId: 'm'.repeat(MAX_A2A_MESSAGE_ID_LENGTH + 1) }, /messageId/],
      [{ contextId: 'c'.repeat(MAX_A2A_CONTEXT_ID_LENGTH + 1) }, /contextId/],
      [{ contextId: 'a\u0000' }, /contextId.*NUL/],
      [{ contextId: '\uD800' }, /contextId.*surrogate/],
      [{ metadata: { a: 'x'.repeat(MAX_METADATA_BYTES) } }, /bytes/],
      [{ metadata: { a: nested(MAX_METADATA_DEPTH) } }, /deep/],
      [{ metadata: { a: Number.MAX_SAFE_INTEGER + 1 } }, /exact/],
      [{ metadata: { a: 'a\u0000' } }, /NUL/],
      [{ parts: [{ data: { title: 'A', metadata: { a: nested(MAX_METADATA_DEPTH) } } }] }, /deep/],
      [{ parts: [{ data: { title: 'A', unknown: 1 } }] }, /unknown/],
      [{ metadata: nested(MAX_A2A_DEPTH) }, new RegExp(`${MAX_A2A_DEPTH} levels`)],
    ];
    for (const [fields, reason] of beyond) {
      for (const method of ['SendMessage', 'SendStreamingMessage']) {
        const { json } = await rpc(world, method, message(fields));
        assert.equal(json?.error?.code, INVALID_PARAMS, `${reason}: ${JSON.stringify(json)}`);
        assert.match(json.error.message, reason);
      }
    }
    assert.equal(await runs(world), before);
  });

  it('submit nothing if they are nested as deeply as a body can be', async () => {
    const before = await runs(world);
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    const bodies: [string, string][] = [
      ['/a2a', `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${deep}}`],
      [
        '/a2a',
        `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"data":{"title":"A","metadata":{"a":${deep}}}}]}}}`,
      ],
      [
        '/a2a/message:send',
        `{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"A"}],"metadata":{"a":${deep}}}}`,
      ],
    ];
    for (const [path, raw] of bodies) {
      const headers = { ...VERSION, 'Content-Type': 'application/json' };
      const { status, json } = await world.send('POST', path, { raw, headers });
      assert.ok(status === 200 || status === 400, `${status}`);
      assert.match(json.error.message, /levels deep/);
    }
    assert.equal(await runs(world), before);
  });
});

describe('A2A requests with any method', function () {
  const world = useWorld();

  /** Sends a request with a body, which `fetch` does not allow for every method. */
  async function sent(method: string, path: string, body: string): Promise<IncomingMessage> {
    const headers = {
      ...VERSION,
      'X-API-Key': world.installation.api_key,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    };
    const outgoing = request(`${world.api.url}${path}`, { method, headers, agent: false });
    outgoing.end(body);
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    return response;
  }

  it('never cause an internal error, also with a body', async () => {
    const paths = ['/a2a', '/a2a/tasks', `/a2a/tasks/${randomUUID()}:subscribe`, '/a2a/%ff', '/a2a/'];
    for (const path of [...paths, '/.well-known/agent-card.json']) {
      for (const method of ['TRACE', 'GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'POST']) {
        for (const body of ['', '{}']) {
          const response = await sent(method, path, body);
          const received = await text(response);
          const what = `${method} ${path} with "${body}": ${response.statusCode} ${received}`;
          assert.ok((response.statusCode ?? 500) < 500, what);
          if (method === 'TRACE') assert.equal(response.statusCode, path.includes('%') ? 404 : 405, what);
        }
      }
    }
    assert.doesNotMatch(world.logged(), /request failed/);
  });

  it('keep no stream open after HEAD', async () => {
    const id = await submitted(world, { steps: 1, step_ms: 60_000 });
    for (let count = 0; count <= MAX_EVENT_STREAMS; count += 1) {
      const response = await sent('HEAD', `/a2a/tasks/${id}:subscribe`, '');
      response.resume();
      assert.equal(response.statusCode, 200);
    }
    await rpc(world, 'CancelTask', { id });
  });
});

describe('an A2A stream of a run that is over', function () {
  const world = useWorld();

  it('ends at once for a client that has the end, although an attempt of the callback follows', async () => {
    const receiver = await startReceiver({ tls: services().tls });
    receiver.answering(204);
    try {
      const { json } = await world.submit({
        callback_url: receiver.url,
        metadata: { rehearsal: { steps: 1 } },
      });
      const id = json.execution_id as string;
      const path = `/api/v1/tasks/${id}/events`;
      const events = await eventually('the callback was attempted', async () => {
        const { data } = (await world.send('GET', path)).json;
        return data.at(-1)?.type === 'callback.attempted' && data;
      });
      const end = events.find(({ type }: { type: string }) => type === 'run.ended').seq;
      const followed = await world.send('GET', `/a2a/tasks/${id}:subscribe`, {
        headers: { ...VERSION, 'Last-Event-ID': `${end}` },
      });
      const responses = followed.text.split('\n\n').filter((one) => one.startsWith('data: '));
      assert.equal(responses.length, 1, followed.text);
      assert.equal(JSON.parse(responses[0]?.slice(6) ?? '').task.status.state, 'TASK_STATE_COMPLETED');
    } finally {
      await receiver.close();
    }
  });
});

describe('a page of A2A tasks', function () {
  const world = useWorld();

  it('ends after its limit of bytes, and the next page continues', async () => {
    const ids: string[] = [];
    const documents = MAX_ARTIFACTS * MAX_A2A_INLINE_BYTES;
    for (let bytes = 0; bytes < MAX_A2A_PAGE_BYTES + 2 * documents; bytes += documents) {
      const id = await submitted(world, { steps: 1 });
      ids.push(id);
      await world.reaches(id, 'completed');
      await world.database.em.fork().execute(
        `insert into artifacts (execution_id, name, step_id, agent, media_type, content, size, sha256, created_at)
         select ?, 'notes-' || number, gen_random_uuid(), 'coder', 'text/plain', decode(repeat('61', ?), 'hex'), ?, 'any', now()
         from generate_series(1, ?) as number`,
        [id, MAX_A2A_INLINE_BYTES, MAX_A2A_INLINE_BYTES, MAX_ARTIFACTS],
      );
    }
    const list = async (query: string) =>
      (await world.send('GET', `/a2a/tasks?${query}`, { headers: VERSION })).json;
    const first = await list('includeArtifacts=true');
    assert.ok(first.tasks.length > 1 && first.tasks.length < ids.length, `${first.tasks.length}`);
    assert.equal(first.totalSize, ids.length);
    const second = await list(`includeArtifacts=true&pageToken=${first.nextPageToken}`);
    const listed = [...first.tasks, ...second.tasks].map(({ id }: { id: string }) => id);
    assert.deepEqual(listed, ids.toReversed());
    assert.equal(second.nextPageToken ?? '', '');
    assert.equal((await list('')).tasks.length, ids.length, 'without documents, one page is enough');
  });
});

describe('A2A messages whose response waits', () => {
  it('are limited, and refused before anything else happens', async () => {
    const limits = createTaskLimits({ clock: () => new Date() });
    const { promise, resolve } = Promise.withResolvers<void>();
    const caller = { kind: 'key', actor: 'key:a', projectId: randomUUID() } as unknown as Caller;
    const waiting = Array.from({ length: MAX_WAITING_REQUESTS }, () =>
      limits.waits.counted(caller, () => promise),
    );
    const used: unknown[] = [];
    const rest = new Proxy({}, { get: (_, name) => void used.push(name) });
    const deps = Object.assign(Object.create(rest), { limits }) as A2aDependencies;
    const call = { caller, signal: AbortSignal.abort(), lastEventId: null, onError: () => {} };
    const handler = createRequestHandler(deps, call, {} as never);
    const waits = messageWith('A task', { returnImmediately: false });
    await assert.rejects(handler.sendMessage(waits, new ServerCallContext()), {
      code: 'rate_limited',
      message: /1000 waiting requests/,
    });
    assert.deepEqual(used, []);
    resolve();
    await Promise.all(waiting);
  });
});
