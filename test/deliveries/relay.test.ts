import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { mock } from 'node:test';
import { sql } from 'kysely';
import { pino } from 'pino';
import { createRelay, type Relay } from '../../src/activities/deliveries/relay.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import {
  beginListening,
  findAbandonedWebhooks,
  stopListening,
} from '../../src/database/webhooks/listeners.ts';
import { startNotifications, type Notifications } from '../../src/database/common/notifications.ts';
import { answerRequest, claimRequests } from '../../src/database/webhooks/relays.ts';
import { LISTENER_RECONNECT_MS } from '../../src/domain/common/limits.ts';
import { deleteAbandonedListeners, deleteOldRequests } from '../../src/reconciler/abandoned-listeners.ts';
import { assertWithin, CLOCK_MS } from '../api/problems.ts';
import { whileLocked } from '../support/locked.ts';
import type { RelayAnswer, RelayRequest } from '../../src/domain/channel/channel.ts';
import { useDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';

const HEADERS = { 'x-service-event': 'issue.created' };
const BODY = Buffer.from('{"title":"Größe"}');
const OK: RelayAnswer = {
  status: 200,
  headers: { 'x-one': '1' },
  body: Buffer.from('fine').toString('base64'),
  truncated: false,
  duration_ms: 3,
};

describe('a webhook whose listener has left', () => {
  const deliveries = useDeliveries();
  const tidy = () =>
    deleteAbandonedListeners({
      database: deliveries.database,
      clock: () => new Date(),
      log: pino({ level: 'silent' }),
    });
  const abandoned = async () => {
    const id = await deliveries.webhook({ url: 'http://localhost:4000/' });
    await deliveries.changeWebhook(id, { listening_until: new Date(Date.now() - 120_000) });
    return id;
  };

  it('is deleted after a minute, and not found again', async () => {
    const id = await abandoned();
    const other = await deliveries.webhook({ url: 'http://localhost:4000/' });
    await deliveries.changeWebhook(other, { listening_until: new Date(Date.now() - 30_000) });
    await tidy();
    assert.ok((await deliveries.webhookRow(id)).deleted_at);
    assert.equal((await deliveries.webhookRow(other)).deleted_at, null);
    const found = await findAbandonedWebhooks(deliveries.database, new Date(Date.now() - 60_000), 1_000);
    assert.ok(found.every((webhook) => webhook.id !== id));
  });

  it('stays if its listener returns at that moment', async () => {
    const id = await abandoned();
    const returns = `update webhooks set listening_until = now() + interval '30 s' where id = '${id}'`;
    await whileLocked(deliveries.database, [[returns]], tidy);
    assert.equal((await deliveries.webhookRow(id)).deleted_at, null);
  });
});

describe('an attempt through a listener', function () {
  const deliveries = useDeliveries();
  let notifications: Notifications;
  let relay: Relay;
  let subscriptions = 0;
  let webhookId: string;

  const openRelay = (pollMs: number): Relay =>
    createRelay({
      database: deliveries.database,
      notifications: {
        ...notifications,
        subscribe(...subscription) {
          const end = notifications.subscribe(...subscription);
          subscriptions += 1;
          return () => {
            subscriptions -= 1;
            end();
          };
        },
      },
      onError: (error) => assert.fail(String(error)),
      pollMs,
    });

  before(async () => {
    notifications = await startNotifications(
      deliveries.configuration.databaseUrl,
      pino({ level: 'silent' }),
      ['relayAnswers'],
    );
    relay = openRelay(100);
  });
  after(() => notifications?.close());
  beforeEach(async () => {
    webhookId = await deliveries.webhook({ url: 'http://localhost:4000/' });
    await deliveries.changeWebhook(webhookId, { listening_until: new Date(Date.now() + 30_000) });
  });
  afterEach(async () => {
    const { rows } = await sql`select id from relayed_requests`.execute(queryBuilderOf(deliveries.database));
    assert.deepEqual(rows, [], 'no relayed request is left');
    assert.equal(subscriptions, 0, 'no subscription is left');
  });

  const attempt = (timeoutMs = 40_000, signal?: AbortSignal, through = relay) =>
    through.attempt({
      webhookId,
      deliveryId: webhookId,
      event: 'issue.created',
      headers: HEADERS,
      body: BODY,
      timeoutMs,
      ...(signal ? { signal } : {}),
    });
  const nextRequest = (): Promise<RelayRequest> =>
    eventually('a request', async () => (await claimRequests(deliveries.database, webhookId, 1))[0] ?? null);
  const workspaceId = () => deliveries.installation.workspace_id;

  it('ends with the response of the listener', async () => {
    const { signal } = new AbortController();
    const attempting = attempt(40_000, signal);
    const request = await nextRequest();
    assert.deepEqual([request.method, request.headers, request.webhook_id], ['POST', HEADERS, webhookId]);
    assert.deepEqual(Buffer.from(request.body, 'base64'), BODY);
    assert.equal(await answerRequest(deliveries.database, request.id, OK), true);
    const record = await attempting;
    assert.deepEqual([record.outcome, record.failure, record.address], ['succeeded', null, null]);
    assert.equal(record.response?.body.toString(), 'fine');
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    assert.equal(
      await answerRequest(deliveries.database, request.id, OK),
      false,
      'the second response is too late',
    );
  });

  it('has the form of an attempt at a URL, with the time of the listener as that of the first byte', async () => {
    for (const [status, durationMs, refusal] of [
      [299, 1.26, [null, null]],
      [307, 3_600_000, ['redirect', 'The response is a redirect (307) and is not followed']],
      [500, 0, ['status', 'The response has status 500']],
    ] as const) {
      const begun = Date.now();
      const attempting = attempt();
      const request = await nextRequest();
      const { id, ...sent } = request;
      assert.deepEqual(sent, {
        webhook_id: webhookId,
        delivery_id: webhookId,
        event: 'issue.created',
        method: 'POST',
        headers: HEADERS,
        body: BODY.toString('base64'),
      });
      await answerRequest(deliveries.database, id, {
        ...OK,
        status,
        truncated: true,
        duration_ms: durationMs,
      });
      const { timings, started_at: startedAt, duration_ms: duration, ...record } = await attempting;
      const [failure, message] = refusal;
      assert.deepEqual(record, {
        outcome: failure === null ? 'succeeded' : 'failed',
        failure,
        message,
        address: null,
        response: { status, headers: { 'x-one': '1' }, body: Buffer.from('fine'), truncated: true },
      });
      const { total_ms: total, ...times } = timings;
      const firstByte = durationMs === 1.26 ? 1.3 : Math.min(durationMs, total);
      assert.deepEqual(times, {
        lookup_ms: null,
        connect_ms: null,
        tls_ms: null,
        first_byte_ms: firstByte,
      });
      assert.ok(total > 0 && Math.abs(duration - total) <= 0.6 && Number.isInteger(duration));
      assertWithin(startedAt.toISOString(), begun);
    }
  });

  it('has no response and no time of a first byte if it fails', async () => {
    const attempting = attempt();
    const { id } = await nextRequest();
    await answerRequest(deliveries.database, id, { failure: 'tls_failed', message: 'No such certificate' });
    const { response, address, timings } = await attempting;
    assert.deepEqual([response, address, timings.first_byte_ms], [null, null, null]);
  });

  it('ends with the failure that the listener reports', async () => {
    const attempting = attempt();
    const { id } = await nextRequest();
    await answerRequest(deliveries.database, id, { failure: 'tls_failed', message: 'No such certificate' });
    const { outcome, failure, message } = await attempting;
    assert.deepEqual([outcome, failure, message], ['failed', 'tls_failed', 'No such certificate']);
  });

  it('finds a response without a notification', async () => {
    const attempting = attempt();
    const { id } = await nextRequest();
    await sql`update relayed_requests set answer = ${JSON.stringify(OK)}::json where id = ${id}::uuid`.execute(
      queryBuilderOf(deliveries.database),
    );
    assert.equal((await attempting).outcome, 'succeeded');
  });

  for (const [what, change] of [
    ['without a listener', { listening_until: new Date(0) }],
    ['if the webhook is deleted', { deleted_at: new Date() }],
  ] as const) {
    it(`fails at once ${what}`, async () => {
      await deliveries.changeWebhook(webhookId, change);
      // It would end later, too, if the request were stored.
      const { failure, message } = await attempt(2_000, undefined, openRelay(3_600_000));
      assert.deepEqual([failure, message], ['connection_failed', 'No listener is connected']);
    });
  }

  it('fails if the listener disconnects and does not return', async () => {
    const begun = await beginListening(deliveries.database, { webhookId, workspaceId: workspaceId() });
    const attempting = attempt(40_000);
    await nextRequest();
    await stopListening(deliveries.database, { webhookId, until: begun ?? '' });
    const { listening_until: until } = await deliveries.webhookRow(webhookId);
    assert.ok((until?.getTime() ?? Infinity) <= Date.now() + LISTENER_RECONNECT_MS + CLOCK_MS);
    // As if its time to reconnect were over.
    await deliveries.changeWebhook(webhookId, { listening_until: new Date(Date.now() - 1) });
    const { failure, message } = await attempting;
    assert.deepEqual(
      [failure, message],
      ['connection_closed', 'The listener disconnected before it answered'],
    );
  });

  it('goes to the next listener if the first has not responded', async () => {
    const first = await beginListening(deliveries.database, { webhookId, workspaceId: workspaceId() });
    const attempting = attempt();
    const { id } = await nextRequest();
    await beginListening(deliveries.database, { webhookId, workspaceId: workspaceId() });
    assert.equal((await nextRequest()).id, id);
    // The disconnect of the replaced listener has no effect.
    await stopListening(deliveries.database, { webhookId, until: first ?? '' });
    await answerRequest(deliveries.database, id, OK);
    assert.equal((await attempting).outcome, 'succeeded');
    const { listening_until: until } = await deliveries.webhookRow(webhookId);
    assert.ok((until?.getTime() ?? 0) > Date.now() + 20_000);
  });

  it('is not sent again to the next listener if its response is stored', async () => {
    const db = queryBuilderOf(deliveries.database);
    const id = randomUUIDv7();
    await sql`
      insert into relayed_requests (id, webhook_id, request, taken_at, answer)
      values (${id}::uuid, ${webhookId}::uuid, '{}', now(), ${JSON.stringify(OK)}::json)
    `.execute(db);
    await beginListening(deliveries.database, { webhookId, workspaceId: workspaceId() });
    assert.deepEqual(await claimRequests(deliveries.database, webhookId, 10), []);
    const isThere = async () =>
      (await sql`select id from relayed_requests where id = ${id}::uuid`.execute(db)).rows.length > 0;
    const tidy = (laterMs: number) =>
      deleteOldRequests({
        database: deliveries.database,
        clock: () => new Date(Date.now() + laterMs),
        log: pino({ level: 'silent' }),
      });
    await tidy(60_000);
    assert.ok(await isThere(), 'its worker may still wait for it');
    await tidy(180_000);
    assert.ok(!(await isThere()), 'its worker has died');
  });

  it('times out without a response, and without a listener that accepts the request', async () => {
    const untaken = await attempt(300);
    assert.deepEqual([untaken.failure, untaken.message], ['timeout', 'No listener received it in time']);
    const limitMs = 3_600_000;
    const attempting = attempt(limitMs);
    await nextRequest();
    const now = performance.now.bind(performance);
    const later = mock.method(performance, 'now', () => now() + limitMs);
    const { failure, message } = await attempting.finally(() => later.mock.restore());
    assert.deepEqual([failure, message], ['timeout', 'The listener did not answer in time']);
  });

  it('ends if it is aborted', async () => {
    const controller = new AbortController();
    const attempting = attempt(40_000, controller.signal);
    await nextRequest();
    controller.abort();
    assert.equal((await attempting).failure, 'aborted');
  });
});
