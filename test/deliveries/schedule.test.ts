import assert from 'node:assert/strict';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { useReceiver } from '../support/callback-receiver.ts';
import { startDeliveries, type Deliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver } from '../support/receiver.ts';
import { services } from '../support/services.ts';
import { skippingEngine, startTimeSkipping } from '../support/time-skipping.ts';

type Row = Awaited<ReturnType<Deliveries['deliveries']>>[number];

/** An attempt that is due so soon is made. */
const NEAR_MS = 1_000;
const WAITS_S = [60, 300, 1_800, 7_200, 43_200];

/** The whole schedule, on a server that skips to the next timer. */
describe('the retry schedule of a delivery', function () {
  let environment: TestWorkflowEnvironment;
  let world: Deliveries;
  const receiver = useReceiver('each test', () => ({ tls: services().tls }));
  before(async () => {
    environment = await startTimeSkipping();
    world = await startDeliveries({ engine: skippingEngine(environment) });
  });
  after(async () => {
    await world?.close();
    await environment?.teardown();
  });

  /** Publishes one event. Waits until its schedule has ended. */
  async function deliver(webhookId: string, betweenAttempts: () => Promise<unknown> = async () => {}) {
    await world.publish([{}]);
    const [first] = await eventually('a first attempt', async () => {
      const rows = await world.deliveries(webhookId);
      return rows[0] && rows[0].status !== 'pending' ? rows : null;
    });
    assert.ok(first);
    if (first.status === 'retrying') {
      await eventually(
        'the retry is scheduled',
        async () => (await world.deliveries(webhookId))[0]?.retry_started ?? false,
      );
      await betweenAttempts();
      await environment.client.workflow.getHandle(`delivery:${first.id}:0`).result();
    }
    const [row] = await world.deliveries(webhookId);
    assert.ok(row);
    return { row, attempts: await world.attempts(row.id) };
  }

  it('waits 1 min, 5 min, 30 min, 2 h and 12 h after the failures, and then fails the delivery', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    /** The delivery at the time of each attempt. Each failure is its last change before. */
    const seen: (Row | undefined)[] = [];
    receiver.answering((_request, response) => {
      void world
        .deliveries(webhookId)
        .then(([found]) => seen.push(found))
        .finally(() => response.writeHead(503).end());
      return undefined;
    });
    const { row, attempts } = await deliver(webhookId);
    assert.equal(row.status, 'failed');
    assert.equal(row.failures, 6);
    assert.equal(row.next_attempt_at, null);
    assert.deepEqual(
      attempts.map(({ number }) => number),
      [1, 2, 3, 4, 5, 6],
    );
    const waits = seen
      .slice(1)
      .map(
        (found) => ((found?.next_attempt_at?.getTime() ?? 0) - (found?.updated_at.getTime() ?? 0)) / 1_000,
      );
    assert.deepEqual(waits, WAITS_S);
    for (const [index, { attempted_at: at }] of attempts.slice(1).entries()) {
      const due = seen[index + 1]?.next_attempt_at?.getTime() ?? Infinity;
      assert.ok(at.getTime() >= due - NEAR_MS, `attempt ${index + 2} is ${due - at.getTime()} ms too early`);
    }
    assert.equal(new Set(receiver.requests.map(({ headers }) => headers['x-service-delivery'])).size, 1);
    assert.equal(new Set(receiver.requests.map(({ body }) => body.toString())).size, 1);
  });

  it('ends with the first success, here at the fourth attempt', async () => {
    let requests = 0;
    receiver.answering(() => (++requests < 4 ? 500 : 200));
    const webhookId = await world.webhook({ url: receiver.url });
    const { row, attempts } = await deliver(webhookId);
    assert.equal(row.status, 'succeeded');
    assert.equal(attempts.length, 4);
    assert.equal((await world.webhookRow(webhookId)).consecutive_failures, 0);
  });

  it('continues after the workers are restarted between two attempts', async () => {
    receiver.answering(500);
    const webhookId = await world.webhook({ url: receiver.url });
    const { row, attempts } = await deliver(webhookId, () => world.restartWorkers());
    assert.equal(row.status, 'failed');
    assert.equal(attempts.length, 6);
  });

  it('uses the current URL and secret of the webhook at each attempt', async () => {
    receiver.answering(500);
    const other = await startReceiver({ tls: services().tls });
    const webhookId = await world.webhook({ url: receiver.url, secret: 'one' });
    const { attempts, row } = await deliver(webhookId, async () => {
      await world.changeWebhook(webhookId, { url: other.url, secret: null });
    });
    await other.close();
    assert.equal(row.status, 'succeeded');
    assert.deepEqual(
      attempts.map(({ url }) => url),
      [receiver.url, other.url],
    );
    assert.equal(other.requests[0]?.headers['x-service-signature'], undefined);
  });

  it('makes no attempt if the delivery has a newer generation', async () => {
    receiver.answering(500);
    const webhookId = await world.webhook({ url: receiver.url });
    const { row, attempts } = await deliver(webhookId, () =>
      world.database.em
        .fork()
        .execute('update deliveries set generation = generation + 1 where webhook_id = ?', [webhookId]),
    );
    assert.deepEqual([row.status, attempts.length], ['retrying', 1]);
  });

  for (const [what, change, status] of [
    ['deleted', { deleted_at: new Date() }, 'cancelled'],
    ['made inactive', { active: false }, 'skipped'],
    ['disabled', { disabled_at: new Date() }, 'held'],
  ] as const) {
    it(`ends as ${status} if the webhook is ${what} before the next attempt`, async () => {
      receiver.answering(500);
      const webhookId = await world.webhook({ url: receiver.url });
      const { row, attempts } = await deliver(webhookId, async () => {
        await world.changeWebhook(webhookId, change);
      });
      assert.equal(row.status, status);
      assert.equal(attempts.length, 1);
    });
  }
});
