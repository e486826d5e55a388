import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { changeWebhook } from '../../src/database/webhooks/webhooks.ts';
import { CONCURRENT_ATTEMPTS as AT_ONCE, FAILURES_TO_DISABLE } from '../../src/domain/common/limits.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useOwnDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';
import { services } from '../support/services.ts';

const WORKERS = 3;

describe('a webhook with failing attempts', function () {
  const world = useOwnDeliveries({ workers: WORKERS });
  const receiver = useReceiver('each test', () => ({ tls: services().tls }));

  it('is disabled once after ten consecutive failures at several workers, and no further attempt starts', async () => {
    receiver.answering(500);
    const webhookId = await world.webhook({ url: receiver.url });
    // Fifty events in groups for three workers, so that attempts run on all of them.
    await Promise.all(Array.from({ length: 25 }, () => world.publish([{}, {}])));
    const row = await eventually('disabled', async () => {
      const now = await world.webhookRow(webhookId);
      return now.disabled_at ? now : null;
    });
    // `disabled_at` is slightly earlier than the commit.
    const isCommitted = new Date();
    await eventually('all deliveries are held', async () => {
      const rows = await world.deliveries(webhookId);
      return rows.length === 50 && rows.every(({ status }) => status === 'held');
    });
    const attempts = (
      await Promise.all((await world.deliveries(webhookId)).map(({ id }) => world.attempts(id)))
    ).flat();
    // Attempts that were running at the tenth failure complete.
    const most = FAILURES_TO_DISABLE + WORKERS * AT_ONCE;
    assert.ok(
      attempts.length >= FAILURES_TO_DISABLE && attempts.length < most,
      `${attempts.length} attempts`,
    );
    assert.match(row.disabled_reason ?? '', /^10 attempts in a row failed. Last failure: .*500/);
    const notices = (await world.notices()).filter(({ subject }) => subject === `webhook:${webhookId}`);
    assert.equal(notices.length, 1, 'one admin gets one notification');
    await world.publish([{}]);
    const rows = await eventually('held', async () => {
      const now = await world.deliveries(webhookId);
      return now.length === 51 && now[50]?.status === 'held' && now;
    });
    // Running attempts may still reach the receiver; by the log, none started after the disabling.
    const all = (await Promise.all(rows.map(({ id }) => world.attempts(id)))).flat();
    assert.ok(all.every(({ attempted_at: at }) => at <= isCommitted));
    assert.equal((await world.attempts(rows[50]?.id ?? '')).length, 0);
  });

  /** Sends one event to a webhook without others. Returns the failures in a row, and whether they disabled the webhook. */
  async function failuresAfter(
    webhookId: string,
    count: number,
  ): Promise<[failures: number, isDisabled: boolean]> {
    await world.publish([{}]);
    await eventually(`attempt ${count}`, async () => {
      const rows = await world.deliveries(webhookId);
      return rows.length === count && rows.every(({ attempts_count: attempts }) => attempts === 1);
    });
    const { consecutive_failures: failures, disabled_at: disabledAt } = await world.webhookRow(webhookId);
    return [failures, disabledAt !== null];
  }

  it('stays enabled after nine consecutive failures, and is disabled by the tenth', async () => {
    receiver.answering(500);
    const webhookId = await world.webhook({ url: receiver.url });
    await world.changeWebhook(webhookId, { consecutive_failures: 8 });
    assert.deepEqual(await failuresAfter(webhookId, 1), [9, false]);
    assert.deepEqual(await failuresAfter(webhookId, 2), [10, true]);
  });

  it('is not disabled if one of the attempts succeeds', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    await world.changeWebhook(webhookId, { consecutive_failures: 9 });
    assert.deepEqual(await failuresAfter(webhookId, 1), [0, false]);
    receiver.answering(500);
    assert.deepEqual(await failuresAfter(webhookId, 2), [1, false]);
  });

  it('stays enabled if attempts fail that started before it was enabled again', async () => {
    const held: ServerResponse[] = [];
    const respond = (response: ServerResponse | undefined, status: number) =>
      response?.writeHead(status).end();
    receiver.answering((_request, response) => void held.push(response));
    const webhookId = await world.webhook({ url: receiver.url });
    await world.publish(Array.from({ length: FAILURES_TO_DISABLE }, () => ({})));
    await receiver.receives(FAILURES_TO_DISABLE);
    await world.changeWebhook(webhookId, {
      disabled_at: new Date(),
      consecutive_failures: FAILURES_TO_DISABLE,
    });
    const workspaceId = world.installation.workspace_id;
    const selected = { workspaceId, id: webhookId, actor: 'test', now: new Date() };
    await changeWebhook(world.database, selected, () => ({ active: true }));
    const [last, ...others] = held;
    for (const response of others) respond(response, 500);
    const failed = (count: number) =>
      eventually(`${count} failed`, async () => {
        const rows = await world.deliveries(webhookId);
        return rows.filter(({ status }) => status === 'retrying').length === count;
      });
    await failed(others.length);
    assert.equal((await world.webhookRow(webhookId)).consecutive_failures, 0);
    receiver.answering(500);
    await world.publish([{}]);
    await failed(others.length + 1);
    assert.equal(
      (await world.webhookRow(webhookId)).consecutive_failures,
      1,
      'this attempt started afterwards',
    );
    respond(last, 204);
    await eventually('the last one succeeded', async () => {
      const rows = await world.deliveries(webhookId);
      return rows.some(({ status }) => status === 'succeeded');
    });
    const { consecutive_failures: count, disabled_at: disabled } = await world.webhookRow(webhookId);
    assert.deepEqual([count, disabled], [0, null], 'a success counts regardless of its start');
  });

  it('gets no retry of an older schedule for a delivery that was sent again', async () => {
    receiver.answering(500);
    const webhookId = await world.webhook({ url: receiver.url });
    await world.publish([{}]);
    const [first] = await eventually('retrying', async () => {
      const rows = await world.deliveries(webhookId);
      return rows[0]?.retry_started ? rows : null;
    });
    const id = first?.id ?? '';
    await world.database.em
      .fork()
      .execute(
        "update deliveries set status = 'pending', in_backlog = true, generation = generation + 1, failures = 0 where id = ?",
        [id],
      );
    receiver.answering(200);
    await world.control.drainBacklog(webhookId);
    await eventually('sent', async () => (await world.deliveries(webhookId))[0]?.status === 'succeeded');
    const sent = receiver.requests.length;
    // The retry of the first schedule starts early.
    await world.control.startRetries({ deliveryId: id, generation: 7 }, 0);
    await world.client.workflow.getHandle(`delivery:${id}:7`).result();
    assert.equal(receiver.requests.length, sent);
  });

  it('receives its whole backlog with increasing concurrency, in event order', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    await world.publish(Array.from({ length: 60 }, () => ({})));
    await eventually('sent', async () => {
      const rows = await world.deliveries(webhookId);
      return rows.length === 60 && rows.every(({ status }) => status === 'succeeded');
    });
    const before = receiver.requests.length;
    await world.database.em
      .fork()
      .execute(
        "update deliveries set status = 'pending', in_backlog = true, generation = generation + 1 where webhook_id = ?",
        [webhookId],
      );
    await world.control.drainBacklog(webhookId);
    await eventually('sent again', async () =>
      (await world.deliveries(webhookId)).every(
        ({ status, in_backlog }) => status === 'succeeded' && !in_backlog,
      ),
    );
    const again = receiver.requests.slice(before).map(({ headers }) => headers['x-service-delivery']);
    assert.equal(again.length, 60);
    assert.deepEqual(
      again.slice(0, 5),
      (await world.deliveries(webhookId)).slice(0, 5).map(({ id }) => id),
    );
  });

  it('can be retried manually in addition to the schedule, which ends with the first success', async () => {
    receiver.answering(500);
    const webhookId = await world.webhook({ url: receiver.url });
    await world.publish([{}]);
    const row = await eventually('retrying', async () =>
      (await world.deliveries(webhookId))[0]?.retry_started
        ? ((await world.deliveries(webhookId))[0] ?? null)
        : null,
    );
    await world.control.attemptAndWait({ deliveryId: row.id, trigger: 'manual', token: randomUUIDv7() });
    const [unchanged] = await world.deliveries(webhookId);
    assert.equal(unchanged?.status, 'retrying');
    assert.deepEqual(unchanged?.next_attempt_at, row.next_attempt_at);
    assert.equal(unchanged?.failures, 1);
    receiver.answering(200);
    await world.control.attemptAndWait({ deliveryId: row.id, trigger: 'manual', token: randomUUIDv7() });
    const [done] = await world.deliveries(webhookId);
    assert.equal(done?.status, 'succeeded');
    assert.equal(done?.attempts_count, 3);
    assert.deepEqual(
      (await world.attempts(row.id)).map(({ trigger }) => trigger),
      ['automatic', 'manual', 'manual'],
    );
  });
});
