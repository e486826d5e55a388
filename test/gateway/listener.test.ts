import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mock } from 'node:test';
import { pino } from 'pino';
import type { Notifications } from '../../src/database/common/notifications.ts';
import { beginListening } from '../../src/database/webhooks/listeners.ts';
import { MAX_LISTENED, CHANNEL_PENDING_BYTES } from '../../src/domain/common/limits.ts';
import { SCOPES } from '../../src/domain/people/access.ts';
import type { RelayRequest } from '../../src/domain/channel/channel.ts';
import type { Connection } from '../../src/gateway/connection.ts';
import type { Client } from '../../src/gateway/handlers.ts';
import { Listener } from '../../src/gateway/listener.ts';
import { createListening } from '../../src/gateway/listening.ts';
import { eventually } from '../support/eventually.ts';
import { useInstallation } from '../support/installation.ts';
import { admitted } from './admitted.ts';

const HOUR_MS = 3_600_000;

describe('a listener of a gateway', () => {
  // With one connection, statements are executed in their order.
  const fresh = useInstallation({ poolSize: 1 });
  const execute = (statement: string, values: unknown[] = []) =>
    fresh.database.em.fork().execute(statement, values);
  const log = pino({ level: 'silent' });

  /** Stores a webhook for a listener with waiting requests. Returns its id. */
  async function webhook(requests = 0): Promise<string> {
    const id = randomUUID();
    await execute(
      `insert into webhooks
         (id, workspace_id, name, url, events, created_by, created_at, updated_at, listening_until)
       values (?, ?, 'Test', 'http://localhost/', '[]', 'system', now(), now(), now())`,
      [id, fresh.installation.workspace_id],
    );
    for (let count = 0; count < requests; count += 1) await request(id);
    return id;
  }
  async function request(webhookId: string): Promise<void> {
    const id = randomUUID();
    await execute(`insert into relayed_requests (id, webhook_id, request) values (?, ?, ?)`, [
      id,
      webhookId,
      JSON.stringify({ id, webhook_id: webhookId }),
    ]);
  }
  const untilOf = async (webhookId: string): Promise<number> =>
    new Date(
      (await execute('select listening_until from webhooks where id = ?', [webhookId]))[0]?.[
        'listening_until'
      ],
    ).getTime();

  function setUpClient() {
    const state = {
      messages: [] as Record<string, unknown>[],
      pending: 0,
      drain: (): void => assert.fail('nobody waits'),
      close: (): void => {},
      isThere: true,
    };
    const holder = { ...admitted().holder, workspaceId: fresh.installation.workspace_id, scopes: SCOPES };
    const connection: Connection = {
      id: '',
      send: (message) => void state.messages.push(JSON.parse(message.plainBytes.toString())),
      pendingBytes: () => state.pending,
      onceDrained: (listener) => void (state.drain = listener),
      close: () => assert.fail('it was closed'),
    };
    const client: Client = {
      connection,
      holder: async () => (state.isThere ? holder : null),
      onHolder: () => () => {},
      onceClosed: (listener) => void (state.close = listener),
    };
    return { client, state };
  }

  async function startListener(webhookId: string, { renewalMs = HOUR_MS } = {}) {
    const { client, state } = setUpClient();
    const received: RelayRequest[] = [];
    let isSubscribed = false;
    let notify = (_rest: string | null): void => assert.fail('nobody listens');
    const notifications = {
      subscribe(_channel: string, id: string, onChange: (id: string, rest: string | null) => void) {
        isSubscribed = true;
        notify = (rest) => onChange(id, rest);
        return () => void (isSubscribed = false);
      },
    } as unknown as Notifications;
    const { workspace_id: workspaceId } = fresh.installation;
    const until = await beginListening(fresh.database, { webhookId, workspaceId });
    assert.ok(until);
    let ends = 0;
    const deps = {
      database: fresh.database,
      notifications,
      log,
      renewalMs,
      handOver: (given: RelayRequest) => void received.push(given),
      onEnd: () => void (ends += 1),
    };
    const one = new Listener(deps, client, webhookId, until);
    return {
      one,
      client,
      state,
      received,
      notify: (rest: string | null) => notify(rest),
      isOver: () => ends === 1 && !isSubscribed,
    };
  }

  it('gets all waiting requests, more than are read at once', async () => {
    const { one, received } = await startListener(await webhook(10));
    await eventually('it has all', () => received.length === 10);
    await one.disconnect();
  });

  it('gets no requests while it does not receive, and the rest afterwards', async () => {
    const id = await webhook(1);
    const { one, received, state, notify } = await startListener(id);
    await eventually('it has the first', () => received.length === 1);
    state.pending = CHANNEL_PENDING_BYTES + 1;
    await request(id);
    notify('');
    await execute('select 1');
    assert.equal(received.length, 1);
    state.pending = 0;
    state.drain();
    await eventually('it has the second', () => received.length === 2);
    await one.disconnect();
  });

  it('gets requests after a lost notification', async () => {
    const id = await webhook();
    const { one, received, notify } = await startListener(id);
    await request(id);
    notify(null);
    await eventually('it has it', () => received.length === 1);
    await one.disconnect();
  });

  it('gets requests at its next renewal if nobody has notified it', async () => {
    const id = await webhook();
    const { one, received } = await startListener(id, { renewalMs: 20 });
    await request(id);
    await eventually('it has it', () => received.length === 1);
    await one.disconnect();
  });

  it('ends with a message if its webhook or the holder of its token is gone', async () => {
    const deleted = await startListener(await webhook());
    deleted.notify('gone');
    assert.ok(deleted.isOver());
    const id = await webhook();
    const removed = await startListener(id, { renewalMs: 20 });
    removed.state.isThere = false;
    await eventually('it has ended', removed.isOver);
    const unseen = await webhook();
    const missed = await startListener(unseen, { renewalMs: 20 });
    await execute('update webhooks set deleted_at = now() where id = ?', [unseen]);
    await eventually('it has ended', missed.isOver);
    const taken = await webhook();
    const replaced = await startListener(taken, { renewalMs: 20 });
    await execute("update webhooks set listening_until = listening_until + interval '1 hour' where id = ?", [
      taken,
    ]);
    await eventually('it has ended', replaced.isOver);
    assert.deepEqual(
      [...removed.state.messages, ...missed.state.messages, ...replaced.state.messages],
      [
        { type: 'listening_ended', webhook_id: id, reason: 'gone' },
        { type: 'listening_ended', webhook_id: unseen, reason: 'gone' },
        { type: 'listening_ended', webhook_id: taken, reason: 'replaced' },
      ],
    );
  });

  it('leaves requests that were read during its end to the next one', async () => {
    const id = await webhook(1);
    const { one, received, isOver } = await startListener(id);
    // The request is being read.
    await one.disconnect();
    await eventually('it is released', async () => {
      const [row] = await execute('select taken_at from relayed_requests where webhook_id = ?', [id]);
      return row?.['taken_at'] === null;
    });
    assert.deepEqual([received, isOver()], [[], true]);
    const next = await startListener(id);
    await eventually('the next one has it', () => next.received.length === 1);
    await next.one.disconnect();
  });

  it('is renewed again after a renewal that failed', async () => {
    const id = await webhook();
    const { one, state } = await startListener(id, { renewalMs: 20 });
    await execute('alter table webhooks rename to webhooks_away');
    await execute('select pg_sleep(0.1)');
    await execute('alter table webhooks_away rename to webhooks');
    const before = await untilOf(id);
    await eventually('it is renewed', async () => (await untilOf(id)) > before);
    await eventually('it is renewed again', async () => (await untilOf(id)) > before + 1);
    assert.deepEqual(state.messages, []);
    await one.disconnect();
  });

  it('stops with a message if a newer one is registered, but not at its own registration', async () => {
    const { state, notify, isOver } = await startListener(await webhook());
    notify('2000-01-01T00:00:00.000Z');
    assert.ok(!isOver());
    notify('2100-01-01T00:00:00.000Z');
    notify('2100-01-01T00:00:00.000Z');
    assert.ok(isOver());
    assert.deepEqual(
      state.messages.map(({ reason }) => reason),
      ['replaced'],
    );
  });

  describe('over its connection', () => {
    /** A gateway without notifications. */
    const startListening = () =>
      createListening({
        database: fresh.database,
        notifications: { subscribe: () => () => {} } as unknown as Notifications,
        log,
        renewalMs: HOUR_MS,
      });
    type Listening = ReturnType<typeof startListening>;
    async function listen({ handlers }: Listening, client: Client, webhookId: string) {
      const read = handlers.listen.read(client, { webhook_id: webhookId });
      assert.ok(typeof read === 'function');
      const { reply, begin } = await read();
      begin?.();
      return reply;
    }
    async function answer({ handlers }: Listening, client: Client, id: unknown) {
      const read = handlers.answer.read(client, { request_id: id, status: 200, duration_ms: 1 });
      return typeof read === 'function' ? (await read()).reply : read;
    }
    const requestsOf = (messages: readonly Record<string, unknown>[]) =>
      messages.filter(({ type }) => type === 'request');

    it('can register again for the same webhook, and gets its unanswered requests again', async () => {
      const listening = startListening();
      const { client, state } = setUpClient();
      const id = await webhook(1);
      for (let count = 1; count <= 2; count += 1) {
        assert.ok((await listen(listening, client, id)).ok);
        await eventually('it has the request', () => requestsOf(state.messages).length === count);
      }
      assert.equal(
        requestsOf(state.messages).length,
        state.messages.length,
        'it got no message about an end',
      );
      const [first] = state.messages;
      assert.ok((await answer(listening, client, first?.['id'])).ok);
      assert.ok(!(await answer(listening, client, first?.['id'])).ok, 'it is answered already');
      await request(id);
      await listening.close();
    });

    it('counts each webhook once towards its limit', async () => {
      const listening = startListening();
      const { client } = setUpClient();
      const ids: string[] = [];
      for (let count = 0; count < MAX_LISTENED; count += 1) ids.push(await webhook());
      for (const id of [...ids, ...ids]) assert.ok((await listen(listening, client, id)).ok);
      const refused = await listen(listening, client, await webhook());
      assert.equal(!refused.ok && refused.code, 'too_many_rooms');
      await listening.close();
    });

    it('cannot be answered by others, or after its end', async () => {
      const listening = startListening();
      const { client, state } = setUpClient();
      const other = setUpClient();
      const id = await webhook(1);
      await listen(listening, client, id);
      await eventually('it has the request', () => requestsOf(state.messages).length === 1);
      const [first] = state.messages;
      assert.ok(!(await answer(listening, other.client, first?.['id'])).ok);
      state.close();
      assert.ok(!(await answer(listening, client, first?.['id'])).ok);
      await eventually('its end is recorded', async () => (await untilOf(id)) < Date.now() + 10_000);
      await listening.close();
    });

    it('can answer a request for a minute', async () => {
      const begun = performance.now();
      let passed = 0;
      const now = mock.method(performance, 'now', () => begun + passed);
      const listening = startListening();
      const { client, state } = setUpClient();
      try {
        /** Receives the requests of another webhook. */
        const receive = async (count: number) => {
          state.messages.length = 0;
          await listen(listening, client, await webhook(count));
          await eventually('it has the requests', () => requestsOf(state.messages).length === count);
          return state.messages.map(({ id }) => id);
        };
        const [first, second] = await receive(2);
        passed = 59_999;
        const [later] = await receive(1);
        assert.deepEqual(await answer(listening, client, first), {
          ok: true,
          request_id: first,
          in_time: true,
        });
        passed = 60_000;
        await receive(1);
        assert.ok(!(await answer(listening, client, second)).ok);
        await execute('delete from relayed_requests');
        const late = await answer(listening, client, later);
        assert.deepEqual(late, { ok: true, request_id: later, in_time: false });
      } finally {
        await listening.close();
        now.mock.restore();
      }
    });

    it('ends with its gateway, which records it', async () => {
      const listening = startListening();
      const ids = [await webhook(), await webhook()];
      for (const id of ids) await listen(listening, setUpClient().client, id);
      await listening.close();
      for (const id of ids) assert.ok((await untilOf(id)) < Date.now() + 10_000);
    });
  });
});
