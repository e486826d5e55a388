import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { sql } from 'kysely';
import { io, type Socket } from 'socket.io-client';
import { queryBuilderOf } from '../../src/database/database.ts';
import { CHANNEL_PATH } from '../../src/domain/channel/channel.ts';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';
import { assertWithin } from '../api/problems.ts';
import { addWorkspace } from '../support/people.ts';
import { keyWith } from '../api/keys.ts';
import { openPlain, type PlainChannel } from '../support/plain-channel.ts';
import { deleteWebhooks } from '../support/webhooks.ts';
import { PASSWORD, type Received, useWorld } from '../support/world.ts';
import { startGateways } from '../support/gateways.ts';
import { eventually } from '../support/eventually.ts';
import { startOwnChannel } from './own-channel.ts';

type Message = Received['json'];

describe('a listener on the live channel', function () {
  const world = useWorld();
  let token: string;
  const clients: PlainChannel[] = [];

  before(async () => {
    token = await tokenOf();
  });
  afterEach(async () => {
    for (const { socket } of clients.splice(0)) socket.terminate();
    await deleteWebhooks(world);
  });

  const tokenOf = async (key?: string): Promise<string> =>
    (await world.send('POST', '/api/v1/tokens', key ? { key } : {})).json.token;
  const listener = async (members: object = {}, key?: string): Promise<string> => {
    const body = { forward_to: 'http://localhost:4000/hook', ...members };
    const created = await world.send('POST', '/api/v1/listeners', { body, ...(key ? { key } : {}) });
    assert.equal(created.status, 201, created.text);
    return created.json.id;
  };
  const publish = async (count = 1): Promise<void> => {
    const events = Array.from({ length: count }, (_, index) => ({
      event: 'issue.created',
      data: { issue: { id: `i-${index}` } },
    }));
    await world.send('POST', '/api/v1/events', { body: { events } });
  };
  const connect = async (as = token, url = world.api.url): Promise<PlainChannel> => {
    const client = await openPlain(url, as);
    clients.push(client);
    return client;
  };
  const endOf = (client: PlainChannel) => client.hears('listening_ended');
  const requestsOf = (client: PlainChannel) => client.messages.filter(({ type }) => type === 'request');
  const requests = async (client: PlainChannel, count: number): Promise<Message[]> =>
    await eventually(`${count} requests`, () => requestsOf(client).length >= count && requestsOf(client));
  const deliveries = async (webhookId: string): Promise<Message[]> =>
    (await world.send('GET', `/api/v1/webhooks/${webhookId}/deliveries`)).json.data;
  const attemptsOf = async (webhookId: string, status: string): Promise<Message[]> =>
    await eventually(`a delivery that is ${status}`, async () => {
      const [found] = await deliveries(webhookId);
      if (found?.status !== status) return null;
      return (await world.send('GET', `/api/v1/deliveries/${found.id}`)).json.attempts;
    });
  /** Starts a listener with one unanswered request. */
  const listenerWithRequest = async () => {
    const id = await listener();
    const client = await connect();
    await client.ask({ type: 'listen', webhook_id: id });
    await publish();
    const [request] = await requests(client, 1);
    return { id, client, request };
  };

  it('receives requests, and its responses are recorded', async () => {
    const { id, client, request } = await listenerWithRequest();
    assert.equal(request.webhook_id, id);
    assert.equal(request.headers['x-service-delivery'], request.delivery_id);
    assert.ok(!('x-webhook-secret' in request.headers));
    assert.equal(JSON.parse(Buffer.from(request.body, 'base64').toString()).event, 'issue.created');
    const answered = await client.ask({
      type: 'answer',
      request_id: request.id,
      status: 202,
      headers: { 'x-one': 'ü' },
      body: Buffer.from('ok').toString('base64'),
      duration_ms: 7,
    });
    assert.deepEqual([answered.type, answered.in_time], ['answered', true]);
    const [attempt] = await attemptsOf(id, 'succeeded');
    assert.deepEqual(attempt.response, {
      status: 202,
      headers: { 'x-one': 'ü' },
      body: 'ok',
      truncated: false,
    });
    assert.ok(
      attempt.timings.first_byte_ms <= 7 && attempt.timings.total_ms >= attempt.timings.first_byte_ms,
    );
    const left = await world.database.em
      .fork()
      .execute('select count(*)::int as n from relayed_requests where webhook_id = ?', [id]);
    assert.equal(left[0]?.n, 0);
  });

  it('has a webhook with the address as its name and all event kinds, unless the request has others', async () => {
    const create = async (more: object) => {
      const from = Date.now();
      const body = { forward_to: `http://localhost:4000/${'x'.repeat(200)}`, ...more };
      const { status, headers, json } = await world.send('POST', '/api/v1/listeners', { body });
      assert.equal(status, 201);
      const { id, secret, created_at: createdAt, updated_at: updatedAt, ...rest } = json;
      assert.match(secret, /^[0-9a-f]{64}$/);
      assert.equal(updatedAt, createdAt);
      assert.ok(headers.get('location')?.endsWith(`/api/v1/webhooks/${id}`));
      const [row] = await world.database.em
        .fork()
        .execute('select listening_until as until from webhooks where id = ?', [id]);
      assertWithin(new Date(row?.['until']).toISOString(), from, 30_000);
      return rest;
    };
    const expected = {
      name: `http://localhost:4000/${'x'.repeat(178)}`,
      description: null,
      url: `http://localhost:4000/${'x'.repeat(200)}`,
      method: 'POST',
      content_type: 'application/json',
      events: EVENT_KINDS.map((event) => ({ event, filters: [] })),
      has_secret: true,
      include_secret_header: false,
      active: true,
      standard_webhooks: false,
      status: 'active',
      consecutive_failures: 0,
      disabled_at: null,
      disabled_reason: null,
      previous_secret_until: null,
      listening: true,
    };
    assert.deepEqual(await create({}), expected);
    const own = { name: 'Own', events: [{ event: 'user.joined', filters: [] }] };
    assert.deepEqual(await create(own), { ...expected, ...own });
  });

  it('receives what was sent before it connected', async () => {
    const id = await listener();
    await publish();
    await eventually('a waiting delivery', async () => {
      const { rows } = await sql`select from relayed_requests where webhook_id = ${id}::uuid`.execute(
        queryBuilderOf(world.database),
      );
      return rows.length === 1;
    });
    const client = await connect();
    await client.ask({ type: 'listen', webhook_id: id });
    await requests(client, 1);
  });

  it('can use Socket.IO', async () => {
    const id = await listener();
    const socket: Socket = io(world.api.url, { path: CHANNEL_PATH, query: { token }, forceNew: true });
    const arrived = new Promise<Message>((resolve) => socket.once('request', resolve));
    try {
      const reply = await socket.emitWithAck('listen', { webhook_id: id });
      assert.deepEqual(reply, { ok: true, webhook_id: id });
      await publish();
      const { id: requestId } = await arrived;
      const answer = { request_id: requestId, status: 204, duration_ms: 1 };
      assert.deepEqual(await socket.emitWithAck('answer', answer), {
        ok: true,
        request_id: requestId,
        in_time: true,
      });
      await attemptsOf(id, 'succeeded');
    } finally {
      socket.disconnect();
    }
  });

  it('gets replies as events if it does not ask for an acknowledgement', async () => {
    const id = await listener();
    const socket: Socket = io(world.api.url, { path: CHANNEL_PATH, query: { token }, forceNew: true });
    try {
      for (const [type, body, replyType, reply] of [
        ['leave', { room: 'any' }, 'left', { ok: true, room: 'any' }],
        ['listen', { webhook_id: id }, 'listening', { ok: true, webhook_id: id }],
        [
          'jump',
          {},
          'refused',
          { ok: false, code: 'invalid_message', message: 'Unknown message type: "jump".', room: null },
        ],
      ] as const) {
        const arrived = new Promise<Message>((resolve) => socket.once(replyType, resolve));
        socket.emit(type, body);
        assert.deepEqual(await arrived, reply);
      }
    } finally {
      socket.disconnect();
    }
  });

  it('takes over from an older listener, with its unanswered requests', async () => {
    const { id, client, request } = await listenerWithRequest();
    const newer = await connect();
    await newer.ask({ type: 'listen', webhook_id: id });
    const [again] = await requests(newer, 1);
    assert.equal(again.id, request.id);
    const ended = await endOf(client);
    assert.deepEqual(ended, { type: 'listening_ended', webhook_id: id, reason: 'replaced' });
    await newer.ask({ type: 'answer', request_id: again.id, status: 200, duration_ms: 1 });
    await attemptsOf(id, 'succeeded');
    client.socket.terminate();
    await publish();
    await requests(newer, 2);
    assert.equal(requestsOf(client).length, 1);
    const late = await newer.ask({ type: 'answer', request_id: again.id, status: 200, duration_ms: 1 });
    assert.equal(late.code, 'invalid_message');
  });

  it('gets its unanswered request again after a lost connection', async () => {
    const { id, client, request } = await listenerWithRequest();
    client.socket.terminate();
    const back = await connect();
    assert.equal((await back.ask({ type: 'listen', webhook_id: id })).type, 'listening');
    const [again] = await requests(back, 1);
    assert.equal(again.id, request.id);
    await back.ask({ type: 'answer', request_id: again.id, status: 200, duration_ms: 1 });
    const attempts = await attemptsOf(id, 'succeeded');
    assert.equal(attempts.length, 1);
  });

  it('gets its unanswered requests again if its gateway is killed', async () => {
    const { databaseUrl, taskQueue } = world.configuration;
    const { gateways, close } = await startGateways({ databaseUrl, taskQueue }, 1);
    const [gateway] = gateways;
    assert.ok(gateway);
    const id = await listener();
    const client = await connect(token, gateway.url);
    await client.ask({ type: 'listen', webhook_id: id });
    await publish(3);
    const first = await requests(client, 3);
    const closed = once(client.socket, 'close');
    process.kill(gateway.pid, 'SIGKILL');
    await closed;
    const other = await connect();
    await other.ask({ type: 'listen', webhook_id: id });
    const again = await requests(other, 3);
    const idsOf = (list: Message[]) => list.map((request) => request.id).toSorted();
    assert.deepEqual(idsOf(again), idsOf(first));
    for (const request of again) {
      const answer = { request_id: request.id, status: 200, duration_ms: 1 };
      assert.equal((await other.ask({ type: 'answer', ...answer })).in_time, true);
    }
    await eventually('all deliveries succeed', async () =>
      (await deliveries(id)).every((row) => row.status === 'succeeded' && row.attempts_count === 1),
    );
    await close();
  });

  it('leaves requests in the table while it does not read', async () => {
    const id = await listener();
    const client = await connect();
    await client.ask({ type: 'listen', webhook_id: id });
    client.socket.pause();
    const text = 'x'.repeat(900_000);
    const events = 9;
    for (let count = 0; count < events; count += 1) {
      const body = { event: 'issue.created', data: { issue: { id: `i-${count}`, title: text } } };
      assert.equal((await world.send('POST', '/api/v1/events', { body })).status, 202);
    }
    const waiting = async () => {
      const rows = await world.database.em
        .fork()
        .execute(
          'select count(*)::int as all, count(taken_at)::int as taken from relayed_requests where webhook_id = ?',
          [id],
        );
      return rows[0] as { all: number; taken: number };
    };
    const { taken } = await eventually('all requests are stored', async () => {
      const now = await waiting();
      return now.all === events && now;
    });
    assert.ok(taken < events, `${taken} of ${events} are taken`);
    client.socket.resume();
    for (const request of await requests(client, events)) {
      assert.ok(Buffer.from(request.body, 'base64').length > text.length);
      await client.ask({ type: 'answer', request_id: request.id, status: 204, duration_ms: 1 });
    }
    await eventually('all deliveries succeed', async () =>
      (await deliveries(id)).every(({ status }) => status === 'succeeded'),
    );
  });

  it('gets a message at once if its webhook is deleted', async () => {
    const id = await listener();
    const client = await connect();
    await client.ask({ type: 'listen', webhook_id: id });
    await world.send('DELETE', `/api/v1/webhooks/${id}`);
    const ended = await endOf(client);
    assert.deepEqual(ended, { type: 'listening_ended', webhook_id: id, reason: 'gone' });
  });

  it('ends as soon as its person is not an admin anymore', async () => {
    const owner = world.as(await world.signIn());
    const person = { email: `listener-${randomUUID()}@example.com`, role: 'admin', password: PASSWORD };
    const { json: member } = await world.send('POST', '/api/v1/members', { ...owner, body: person });
    const own = {
      ...world.as(await world.signIn(person.email)),
      body: { project_id: world.installation.project_id },
    };
    const { json: made } = await world.send('POST', '/api/v1/tokens', own);
    const id = await listener();
    const channel = await startOwnChannel(world, { renewalMs: 600_000 });
    try {
      const client = await connect(made.token, channel.url);
      await client.ask({ type: 'listen', webhook_id: id });
      const body = { role: 'member' };
      await world.send('PATCH', `/api/v1/members/${member.id}`, { ...owner, body });
      assert.equal((await endOf(client)).reason, 'gone');
      await publish();
      assert.deepEqual(requestsOf(client), []);
    } finally {
      await channel.close();
    }
  });

  it('keeps its webhook alive', async () => {
    const id = await listener();
    const channel = await startOwnChannel(world, { renewalMs: 100 });
    const client = await connect(token, channel.url);
    await client.ask({ type: 'listen', webhook_id: id });
    const until = async () =>
      (
        await world.database.em.fork().execute('select listening_until as t from webhooks where id = ?', [id])
      )[0]?.t;
    const first = await until();
    try {
      await eventually('the time is extended', async () => (await until()) > first);
    } finally {
      await channel.close();
    }
  });

  describe('is rejected for', () => {
    it("another workspace's webhook", async () => {
      const key = await addWorkspace(world);
      const id = await listener({}, key);
      const client = await connect();
      assert.equal((await client.ask({ type: 'listen', webhook_id: id })).code, 'forbidden');
      const owner = await connect(await tokenOf(key));
      assert.equal((await owner.ask({ type: 'listen', webhook_id: id })).type, 'listening');
    });

    it('a webhook with a public URL, a deleted webhook and an unknown webhook', async () => {
      const body = { name: 'Chat', url: 'https://example.com/', events: [{ event: 'issue.created' }] };
      const sent = (await world.send('POST', '/api/v1/webhooks', { body })).json.id;
      const deleted = await listener();
      await world.send('DELETE', `/api/v1/webhooks/${deleted}`);
      const client = await connect();
      for (const id of [sent, deleted, randomUUID()]) {
        assert.equal((await client.ask({ type: 'listen', webhook_id: id })).code, 'forbidden');
      }
    });

    it('a read-only token', async () => {
      const client = await connect(await tokenOf(await keyWith(world, ['webhooks:read'])));
      const { code, message } = await client.ask({ type: 'listen', webhook_id: await listener() });
      assert.deepEqual([code, message], ['forbidden', 'Listening requires the scope webhooks:write.']);
    });

    it('a request without an id', async () => {
      const client = await connect();
      assert.equal((await client.ask({ type: 'listen' })).code, 'invalid_message');
    });

    it('more than ten webhooks on one connection', async () => {
      const client = await connect();
      const ids: string[] = [];
      for (let count = 0; count < 11; count += 1) ids.push(await listener());
      const replies: string[] = [];
      for (const id of ids) {
        const { type, code } = await client.ask({ type: 'listen', webhook_id: id });
        replies.push(code ?? type);
      }
      assert.deepEqual(replies, [...Array.from({ length: 10 }, () => 'listening'), 'too_many_rooms']);
      assert.equal((await client.ask({ type: 'listen', webhook_id: ids[0] })).type, 'listening');
    });

    it('an invalid response, and may send another', async () => {
      const { id, client, request } = await listenerWithRequest();
      const tooLarge = { status: 200, duration_ms: 1, body: Buffer.alloc(65_537).toString('base64') };
      for (const [members, words] of [
        [{}, /`status`/],
        [tooLarge, /at most 65536 bytes/],
      ] as const) {
        const refused = await client.ask({ type: 'answer', request_id: request.id, ...members });
        assert.equal(refused.code, 'invalid_message');
        assert.match(refused.message, words);
      }
      const failed = { failure: 'timeout', message: 'It took too long' };
      assert.equal((await client.ask({ type: 'answer', request_id: request.id, ...failed })).in_time, true);
      const [attempt] = await attemptsOf(id, 'retrying');
      assert.deepEqual(
        [attempt.failure, attempt.message, attempt.response],
        ['timeout', failed.message, null],
      );
    });

    it('a response to an unknown request or to a request of another listener', async () => {
      const { client, request } = await listenerWithRequest();
      const answer = { status: 200, duration_ms: 1 };
      const other = await connect();
      for (const [sender, id] of [
        [client, randomUUID()],
        [other, request.id],
      ]) {
        assert.equal(
          (await sender.ask({ type: 'answer', ...answer, request_id: id })).code,
          'invalid_message',
        );
      }
      assert.equal((await client.ask({ type: 'answer', ...answer, request_id: request.id })).in_time, true);
      assert.equal(
        (await client.ask({ type: 'answer', ...answer, request_id: request.id })).code,
        'invalid_message',
      );
    });

    it('a secret in a header', async () => {
      const id = await listener();
      const body = { include_secret_header: true };
      const changed = await world.send('PATCH', `/api/v1/webhooks/${id}`, { body });
      assert.equal(changed.status, 422);
      assert.equal(changed.json.errors[0].pointer, '/include_secret_header');
    });

    it('an invalid URL or an unknown member', async () => {
      for (const body of [
        {},
        { forward_to: 'localhost:4000' },
        { forward_to: 'http://me:pass@localhost/' },
        { forward_to: 'http://localhost/', secret: 'mine' },
      ]) {
        assert.equal((await world.send('POST', '/api/v1/listeners', { body })).status, 422);
      }
    });
  });
});
