import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { verify } from '@octokit/webhooks-methods';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { EVENT_KINDS } from '../../src/domain/webhooks/event-kinds.ts';
import { fromStoredTimings } from '../../src/domain/webhooks/stored-attempt.ts';
import { CONCURRENT_ATTEMPTS } from '../../src/domain/common/limits.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useDeliveries } from '../support/deliveries.ts';
import { startReceiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import { services } from '../support/services.ts';

describe('a first attempt', function () {
  const world = useDeliveries();
  const receiver = useReceiver('each test', () => ({ tls: services().tls }));

  const settled = (webhookId: string, count: number) =>
    eventually(`${count} settled deliveries`, async () => {
      const rows = await world.deliveries(webhookId);
      return rows.length === count && rows.every(({ status }) => status !== 'pending') && rows;
    });

  it('sends the exact bytes of every event kind, with all headers', async () => {
    const secret = 'a secret in any format ü';
    const events = EVENT_KINDS.map((event) => ({ event, filters: [] }));
    const webhookId = await world.webhook({ url: receiver.url, secret, events });
    const data = '{"issue" : {"id":"1","n":1.0, "big":12345678901234567890,"ü":"\\u00fc"}}';
    const bodies = await world.publish([...EVENT_KINDS.map((event) => ({ event })), { data }]);
    const requests = await receiver.receives(bodies.length);
    const rows = await settled(webhookId, bodies.length);
    for (const [index, body] of bodies.entries()) {
      const request = requests.find((received) => received.body.toString() === body);
      assert.ok(request, `no request with ${body}`);
      const row = rows[index];
      assert.equal(request.method, 'POST');
      assert.equal(request.headers['content-type'], 'application/json');
      assert.equal(request.headers['x-service-event'], row?.event);
      assert.equal(request.headers['x-service-delivery'], row?.id);
      assert.equal(request.headers['x-service-timestamp'], JSON.parse(body).timestamp);
      assert.equal(request.headers['x-webhook-secret'], undefined);
      const signature = request.headers['x-service-signature'] ?? '';
      assert.ok(typeof signature === 'string');
      const hex = createHmac('sha256', secret).update(request.body).digest('hex');
      assert.equal(signature, `sha256=${hex}`);
      assert.ok(await verify(secret, body, signature));
      assert.equal(row?.status, 'succeeded');
      assert.equal(row?.response_status, 204);
    }
    const [attempt] = await world.attempts(rows[0]?.id ?? '');
    assert.equal(attempt?.trigger, 'automatic');
    assert.equal(attempt?.url, receiver.url);
    assert.equal(attempt?.address, '127.0.0.1');
    assert.ok(fromStoredTimings(attempt?.timings ?? assert.fail()).total_ms >= 0);
  });

  it('goes only to webhooks with matching filters, with the exact bytes', async () => {
    // user.joined has none of the fields of filters.
    const kinds = EVENT_KINDS.filter((event) => event !== 'user.joined');
    const filtered = (project: string) =>
      kinds.map((event) => ({
        event,
        filters: [
          { field: 'project' as const, values: ['another', project] },
          ...(event === 'issue.updated' ? [{ field: 'status' as const, changed_to: 'In Progress' }] : []),
        ],
      }));
    const matching = await world.webhook({ url: receiver.url, events: filtered('Web shop') });
    const others = await world.webhook({ url: receiver.url, events: filtered('No such project') });
    const bodies = await world.publish(kinds.map((event) => ({ event })));
    await settled(matching, kinds.length);
    const rows = await settled(others, kinds.length);
    assert.deepEqual(receiver.requests.map(({ body }) => body.toString()).toSorted(), bodies.toSorted());
    assert.ok(rows.every(({ status, reason }) => status === 'skipped' && reason?.startsWith('project ')));
  });

  it('is unsigned without a secret, and a requested secret header is masked in the log', async () => {
    const plain = await world.webhook({ url: `${receiver.url}/plain` });
    const open = await world.webhook({
      url: `${receiver.url}/open`,
      secret: 'header-secret',
      previousSecret: 'old-one',
      previousSecretUntil: new Date(Date.now() + 60_000),
      includeSecretHeader: true,
    });
    await world.publish([{}]);
    const requests = await receiver.receives(2);
    const to = (path: string) => requests.find(({ url }) => url === path);
    assert.equal(to('/plain')?.headers['x-service-signature'], undefined);
    assert.equal(to('/open')?.headers['x-webhook-secret'], 'header-secret');
    const previous = createHmac('sha256', 'old-one')
      .update(to('/open')?.body ?? '')
      .digest('hex');
    assert.equal(to('/open')?.headers['x-service-signature-previous'], `sha256=${previous}`);
    await settled(plain, 1);
    const [row] = await settled(open, 1);
    const [attempt] = await world.attempts(row?.id ?? '');
    assert.equal(attempt?.request_headers['x-webhook-secret'], '********');
    assert.ok(!world.logged().includes('header-secret'));
  });

  it('has the Standard Webhooks headers on request, which the reference library verifies', async () => {
    const secret = 'any text at all';
    const webhookId = await world.webhook({ url: receiver.url, secret, standardWebhooks: true });
    const [body = ''] = await world.publish([{}]);
    const [request] = await receiver.receives(1);
    await settled(webhookId, 1);
    const headers = Object.fromEntries(
      ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [
        name,
        String(request?.headers[name]),
      ]),
    );
    const verifier = new StandardWebhook(`whsec_${Buffer.from(secret).toString('base64')}`);
    assert.deepEqual(verifier.verify(body, headers), JSON.parse(body));
    assert.throws(() => verifier.verify(`${body} `, headers));
    assert.equal(headers['webhook-id'], request?.headers['x-service-delivery']);
  });

  it('is not made if a filter does not match or the webhook is inactive or disabled, and the log has the reason', async () => {
    const filtered = await world.webhook({
      url: receiver.url,
      events: [{ event: 'issue.created', filters: [{ field: 'status', values: ['no such status'] }] }],
    });
    const off = await world.webhook({ url: receiver.url, active: false });
    const disabled = await world.webhook({ url: receiver.url });
    const deaf = await world.webhook({ url: receiver.url, events: [{ event: 'user.joined', filters: [] }] });
    await world.changeWebhook(disabled, { disabled_at: new Date(), disabled_reason: 'test' });
    await world.publish([{}]);
    const [row] = await settled(filtered, 1);
    assert.equal(row?.status, 'skipped');
    assert.match(row?.reason ?? '', /^status /);
    assert.deepEqual(
      (await settled(off, 1)).map(({ status, reason }) => ({ status, reason })),
      [{ status: 'skipped', reason: 'the webhook is inactive' }],
    );
    assert.equal((await settled(disabled, 1))[0]?.status, 'held');
    assert.deepEqual(await world.deliveries(deaf), []);
    await eventually('the group is done', async () => {
      const open = await world.database.em.fork().execute(
        `select from event_groups where done_at is null
         and id in (select group_id from events where workspace_id = ?)`,
        [world.installation.workspace_id],
      );
      return open.length === 0;
    });
    assert.equal(receiver.requests.length, 0);
  });

  it('starts in the order of the events', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    // Their connections are used again: ten TLS handshakes can take more than the second after which others move to the backlog.
    const first = await world.publish(Array.from({ length: CONCURRENT_ATTEMPTS }, () => ({})));
    await settled(webhookId, first.length);
    const bodies = await world.publish(Array.from({ length: 100 }, () => ({})));
    await settled(webhookId, first.length + bodies.length);
    const rows = await world.deliveries(webhookId);
    assert.deepEqual(
      rows.map(({ id }) => id),
      rows.map(({ id }) => id).toSorted(),
      'the log, sorted by id, has the order of the events',
    );
    // Ten attempts run at once. Of those before a request, only the nine others can arrive after it.
    const requests = receiver.requests.slice(first.length);
    const places = requests.map(({ body }) => bodies.indexOf(body.toString()));
    const early = places.filter((place, index) => place - index >= CONCURRENT_ATTEMPTS);
    assert.deepEqual(early, [], places.join(' '));
  });

  it('to a hanging receiver does not delay others, and the excess moves to the backlog', async () => {
    const slow = await startReceiver({ tls: services().tls });
    slow.hanging();
    const hanging = await world.webhook({ url: slow.url, events: [{ event: 'user.joined', filters: [] }] });
    const good = await world.webhook({ url: receiver.url, events: [{ event: 'user.joined', filters: [] }] });
    await world.publish(Array.from({ length: 30 }, () => ({ event: 'user.joined' as const })));
    await settled(good, 30);
    await slow.receives(10);
    const rows = await eventually('twenty in the backlog', async () => {
      const all = await world.deliveries(hanging);
      return all.filter((row) => row.in_backlog).length === 20 && all;
    });
    assert.equal(rows.filter(({ status }) => status === 'pending').length, 30);
    assert.equal(slow.requests.length, 10);
    slow.answering(200);
    await world.changeWebhook(hanging, { deleted_at: new Date() });
    await slow.close();
    await eventually('all deliveries have ended', async () =>
      (await world.deliveries(hanging)).every(
        ({ status }) => status === 'cancelled' || status === 'retrying',
      ),
    );
  });

  it("fails with a message if the webhook's secret cannot be decrypted, and the group ends", async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    await world.changeWebhook(webhookId, { secret: 'v1.unknown.bm9uY2U.c2VhbGVk' });
    await world.publish([{}]);
    const [row] = await settled(webhookId, 1);
    assert.deepEqual([row?.status, row?.failure], ['retrying', 'secret_unreadable']);
    const [attempt] = await world.attempts(row?.id ?? '');
    assert.equal(
      attempt?.message,
      "The webhook's secret cannot be decrypted, so nothing was sent. Set a new secret",
    );
    assert.deepEqual([attempt?.request_headers, attempt?.response_status], [{}, null]);
    assert.equal(receiver.requests.length, 0);
    assert.match(world.logged(), /the sealing key \\"unknown\\" is not configured/);
    assert.ok(!world.logged().includes('c2VhbGVk'));
  });

  it('is scheduled for a retry in a minute if it fails', async () => {
    receiver.answering(500);
    const webhookId = await world.webhook({ url: receiver.url });
    await world.publish([{}]);
    const [row] = await settled(webhookId, 1);
    assert.equal(row?.status, 'retrying');
    assert.equal(row?.failure, 'status');
    const [attempt] = await world.attempts(row?.id ?? '');
    const failedAt = (attempt?.attempted_at.getTime() ?? 0) + (attempt?.response_ms ?? 0);
    assert.equal(Math.round(((row?.next_attempt_at?.getTime() ?? 0) - failedAt) / 60_000), 1);
    await eventually(
      'the retry is scheduled',
      async () => (await world.deliveries(webhookId))[0]?.retry_started ?? false,
    );
    const { status } = await world.client.workflow.getHandle(`delivery:${row?.id}:0`).describe();
    assert.equal(status.name, 'RUNNING');
    assert.equal((await world.webhookRow(webhookId)).consecutive_failures, 1);
  });
});
