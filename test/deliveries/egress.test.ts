import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { startProxy } from '../outbound/raw-server.ts';
import { startCallbackReceiver } from '../support/callback-receiver.ts';
import { startDeliveries, type Deliveries } from '../support/deliveries.ts';
import { startReceiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import { startRuns } from '../support/runs.ts';

describe('an outgoing delivery', function () {
  let world: Deliveries;
  const open: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    await world?.close();
    await Promise.all(open.splice(0).map((resource) => resource.close()));
  });

  const settled = (webhookId: string) =>
    eventually('attempted', async () => {
      const [row] = await world.deliveries(webhookId);
      return row && row.attempts_count > 0 ? row : null;
    });

  it('cannot reach a blocked IP address by a first attempt, a manual retry or a test', async () => {
    world = await startDeliveries({ environment: { OUTBOUND_ALLOW: '' } });
    const receiver = await startReceiver();
    open.push(receiver);
    const webhookId = await world.webhook({ url: `http://localhost:${receiver.port}/` });
    await world.publish([{}]);
    const { id } = await settled(webhookId);
    for (const trigger of ['manual', 'test'] as const) {
      await world.control.attemptAndWait({ deliveryId: id, trigger, token: randomUUIDv7() });
    }
    const attempts = await world.attempts(id);
    assert.deepEqual(
      attempts.map(({ trigger, failure }) => [trigger, failure]),
      [
        ['automatic', 'address_refused'],
        ['manual', 'address_refused'],
        ['test', 'address_refused'],
      ],
    );
    assert.match(attempts[0]?.message ?? '', /loopback/);
    assert.equal(receiver.connections(), 0);
  });

  it('uses the configured proxy, with the checked IP address', async () => {
    const proxy = await startProxy();
    open.push(proxy);
    world = await startDeliveries({
      environment: { OUTBOUND_PROXY: proxy.url.replace('//', '//user:password@') },
    });
    const receiver = await startCallbackReceiver();
    open.push(receiver);
    const webhookId = await world.webhook({ url: `${receiver.url}/hook` });
    await world.publish([{}]);
    const row = await settled(webhookId);
    const [attempt] = await world.attempts(row.id);
    assert.deepEqual([row.status, attempt?.address], ['succeeded', '127.0.0.1']);
    assert.deepEqual(
      proxy.asked.map(({ authority }) => authority),
      [`127.0.0.1:${receiver.port}`],
    );
    assert.equal(proxy.asked[0]?.authorization, `Basic ${Buffer.from('user:password').toString('base64')}`);
    assert.equal(receiver.requests[0]?.headers.host, `localhost:${receiver.port}`);
  });
});

describe('an outgoing callback', () => {
  it('uses the configured proxy, with the checked IP address', async () => {
    await using open = new AsyncDisposableStack();
    const proxy = open.adopt(await startProxy(), (one) => one.close());
    const receiver = open.adopt(await startCallbackReceiver(), (one) => one.close());
    const runs = open.adopt(await startRuns({ environment: { OUTBOUND_PROXY: proxy.url } }), (one) =>
      one.close(),
    );
    const secret = 'a'.repeat(64);
    const id = await runs.submit({ rehearsal: { steps: 1 }, callbackUrl: `${receiver.url}/done`, secret });
    await runs.becomes('the callback is delivered', id, (row) => row.callback_status === 'delivered');
    assert.deepEqual(
      proxy.asked.map(({ authority }) => authority),
      [`127.0.0.1:${receiver.port}`],
    );
  });
});
