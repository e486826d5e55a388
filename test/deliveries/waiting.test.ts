import assert from 'node:assert/strict';
import { randomUUID, randomUUIDv7 } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import {
  createAttemptLimiter,
  type AttemptLimiter,
} from '../../src/activities/deliveries/attempt-limiter.ts';
import { createAttempts } from '../../src/activities/deliveries/attempts.ts';
import { createWebhookLoader } from '../../src/activities/deliveries/webhook-loader.ts';
import { createResultRecorder } from '../../src/activities/deliveries/result-recorder.ts';
import { createManualRetryActivities } from '../../src/activities/deliveries/manual-retries.ts';
import { createRetryActivities } from '../../src/activities/deliveries/retries.ts';
import { Workspace } from '../../src/database/people/entities.ts';
import { recordResults } from '../../src/database/webhooks/delivery-results.ts';
import { createDeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import { createOutboundClient } from '../../src/outbound/attempt.ts';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import { UNTRACED } from '../../src/outbound/traces.ts';
import { manualRetriesWorkflowId } from '../../src/temporal/delivery-messages.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useDeliveries, useOwnDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver } from '../support/receiver.ts';
import { successOf } from '../support/results.ts';

const LIMITS = { perWebhook: 1, perWorkspace: 1, overall: 1 };

describe('an attempt that waits for a free place', function () {
  const world = useDeliveries();
  const receiver = useReceiver('each test');

  /** Creates a failed delivery whose next attempt is due, at a worker with one place. */
  async function failedDelivery() {
    receiver.answering(500);
    const webhookId = await world.webhook({ url: receiver.url });
    await world.publish([{}]);
    await eventually('a failed delivery', async () => {
      const [row] = await world.deliveries(webhookId);
      return row?.status === 'retrying' && row.retry_started;
    });
    await change(webhookId, 'next_attempt_at = now()');
    const [row] = await world.deliveries(webhookId);
    assert.ok(row);
    receiver.answering(204);
    const limiter = createAttemptLimiter(LIMITS);
    const target = { webhookId, workspaceId: row.workspace_id };
    return {
      row,
      webhookId,
      target,
      limiter,
      activities: activitiesWith(limiter),
      before: receiver.requests.length,
    };
  }

  function activitiesWith(limiter: AttemptLimiter) {
    const sender = createOutboundClient({ guard: createAddressGuard(world.configuration.outboundAllow) });
    const store = createDeliveryStore(world.database);
    const attempt = createAttempts({
      store,
      webhookLoader: createWebhookLoader(store),
      limiter,
      recorder: createResultRecorder(store, () => {}),
      sender,
      relay: { attempt: async () => assert.fail('there is no listener') },
      openSecret: () => '',
      traces: UNTRACED,
      control: world.control,
      onError: (error) => assert.fail(String(error)),
    });
    const dependencies = { store, attempt, engineTime: async () => Date.now() };
    return { ...createRetryActivities(dependencies), ...createManualRetryActivities(dependencies) };
  }

  async function change(webhookId: string, columns: string): Promise<void> {
    await world.database.em
      .fork()
      .execute(`update deliveries set ${columns} where webhook_id = ?`, [webhookId]);
  }

  type Failed = Awaited<ReturnType<typeof failedDelivery>>;

  /** Takes the only place. */
  async function occupyPlace({ limiter, target }: Failed) {
    const place = await limiter.acquire(target, 0);
    assert.ok(place);
    return place;
  }

  /** Resolves when an attempt waits for a place. */
  const isWaiting = (limiter: AttemptLimiter, acquire = limiter.acquire) =>
    new Promise<void>((resolve) => {
      limiter.acquire = (...requested) => {
        const place = acquire(...requested);
        resolve();
        return place;
      };
    });

  /** Resolves when an attempt has got no place. */
  const isRefused = (limiter: AttemptLimiter, acquire = limiter.acquire) =>
    new Promise<void>((resolve) => {
      limiter.acquire = async (...requested) => {
        const place = await acquire(...requested);
        if (place === null) resolve();
        return place;
      };
    });

  /** Starts a scheduled attempt that waits for the occupied place. */
  async function waitingRetry() {
    const failed = await failedDelivery();
    const place = await occupyPlace(failed);
    const waits = isWaiting(failed.limiter);
    const retry = new MockActivityEnvironment().run(failed.activities.attemptDelivery, {
      deliveryId: failed.row.id,
      generation: 0,
    });
    await waits;
    return { failed, place, retry };
  }

  it('is not made by the schedule if a manual attempt has succeeded', async () => {
    const { failed, place, retry } = await waitingRetry();
    await recordResults(world.database, [successOf(failed.row, { trigger: 'manual' })]);
    place.release();
    await retry;
    assert.equal(receiver.requests.length, failed.before);
    assert.equal((await world.attempts(failed.row.id)).length, 2);
  });

  it('is not made by the schedule if another process has made it, and the schedule continues', async () => {
    const { failed, place, retry } = await waitingRetry();
    const failure = { failures: 1, succeeded: false, failure: 'status', response_status: 500 };
    await recordResults(world.database, [successOf(failed.row, failure)]);
    place.release();
    await assert.rejects(retry, /the next attempt is not due yet/);
    assert.equal(receiver.requests.length, failed.before);
    // Two results of the same attempt advance the schedule once.
    await recordResults(world.database, [successOf(failed.row, failure)]);
    assert.equal((await world.deliveries(failed.webhookId))[0]?.failures, 2);
  });

  it('is made manually in addition to the schedule, unless the delivery has succeeded since the request', async () => {
    const failed = await failedDelivery();
    const { id: deliveryId } = failed.row;
    // The clock that recorded the attempts is behind the clock of the request.
    await change(failed.webhookId, "updated_at = now() - interval '1 hour'");
    const request = { deliveryId, trigger: 'manual' as const, token: randomUUIDv7(), attempts: 1 };
    const attemptOnce = () => new MockActivityEnvironment().run(failed.activities.attemptOnce, request);
    const place = await occupyPlace(failed);
    const waits = isWaiting(failed.limiter);
    const manualAttempt = attemptOnce();
    await waits;
    await change(failed.webhookId, 'failures = 2');
    place.release();
    await manualAttempt;
    assert.equal(
      receiver.requests.length,
      failed.before + 1,
      'a scheduled failure does not replace the manual attempt',
    );
    await change(failed.webhookId, "updated_at = now() - interval '1 hour'");
    await attemptOnce();
    assert.equal(receiver.requests.length, failed.before + 1, 'the delivery has succeeded since the request');
    request.attempts = 2;
    await attemptOnce();
    assert.equal(receiver.requests.length, failed.before + 2, 'a new request sends the delivery again');
  });

  it('is made manually by the same call if it gets no place at first', async () => {
    const failed = await failedDelivery();
    const { webhookId, row, limiter } = failed;
    const held: ServerResponse[] = [];
    receiver.answering((_request, response) => void held.push(response));
    for (const _ of [1, 2]) await world.requestRetry(row);
    const refused = isRefused(limiter);
    const call = new MockActivityEnvironment().run(failed.activities.makeManualRetries, { webhookId });
    await refused;
    receiver.answering(500);
    for (const response of held) response.writeHead(500).end();
    assert.deepEqual(await call, { isMore: false, isCrowded: false });
    assert.equal(receiver.requests.length, failed.before + 2);
  });

  it('leaves the queue if it is aborted', async () => {
    const failed = await failedDelivery();
    const place = await occupyPlace(failed);
    const waits = isWaiting(failed.limiter);
    const environment = new MockActivityEnvironment();
    const retry = environment.run(failed.activities.attemptDelivery, {
      deliveryId: failed.row.id,
      generation: 0,
    });
    await waits;
    environment.cancel();
    await assert.rejects(retry, { name: 'CancelledFailure' });
    const next = failed.limiter.acquire(failed.target, 60_000);
    place.release();
    assert.ok(await next, 'the place goes to the next attempt');
    assert.equal(receiver.requests.length, failed.before);
  });

  const ways: Record<string, (failed: Failed, env: MockActivityEnvironment) => Promise<unknown>> = {
    'by the schedule': ({ activities, row }, env) =>
      env.run(activities.attemptDelivery, { deliveryId: row.id, generation: 0 }),
    manually: ({ activities, webhookId }, env) => env.run(activities.makeManualRetries, { webhookId }),
  };
  for (const [how, work] of Object.entries(ways)) {
    it(`is made again ${how} if its request was aborted, and no failure is counted`, async () => {
      const failed = await failedDelivery();
      const { row, webhookId, before } = failed;
      await world.requestRetry(row);
      receiver.hanging();
      const environment = new MockActivityEnvironment();
      const aborted = work(failed, environment);
      await receiver.receives(before + 1);
      environment.cancel();
      await assert.rejects(aborted, { name: 'CancelledFailure' });
      const [found] = await world.deliveries(webhookId);
      assert.deepEqual([found?.status, found?.failures, found?.attempts_count], ['retrying', 1, 1]);
      assert.equal((await world.webhookRow(webhookId)).consecutive_failures, 1);
      receiver.answering(204);
      await work(failed, new MockActivityEnvironment());
      assert.equal((await world.deliveries(webhookId))[0]?.status, 'succeeded');
      assert.equal((await world.attempts(row.id)).length, 2);
    });
  }

  it('waits on a Temporal timer without a slot, and no failure is counted', async () => {
    const failed = await failedDelivery();
    await occupyPlace(failed);
    const { id: deliveryId } = failed.row;
    const attempts = [
      (env: MockActivityEnvironment) =>
        env.run(failed.activities.attemptDelivery, { deliveryId, generation: 0 }),
      (env: MockActivityEnvironment) =>
        env.run(failed.activities.attemptOnce, {
          deliveryId,
          trigger: 'manual' as const,
          token: randomUUID(),
        }),
    ];
    for (const run of attempts) {
      await assert.rejects(run(new MockActivityEnvironment({ attempt: 9 })), (error) => {
        assert.ok(error instanceof ApplicationFailure);
        const delay = Number(error.nextRetryDelay);
        assert.ok(
          error.type === 'NoFreePlace' && delay > 15_000 && delay <= 30_000,
          `${error.type} ${delay}`,
        );
        return true;
      });
    }
    const [row] = await world.deliveries(failed.webhookId);
    assert.deepEqual([row?.status, row?.failures, row?.attempts_count], ['retrying', 1, 1]);
    const [{ webhookId }, environment] = [failed, new MockActivityEnvironment()];
    await world.requestRetry(failed.row);
    const retries = await environment.run(failed.activities.makeManualRetries, { webhookId });
    assert.deepEqual(retries, { isMore: true, isCrowded: true });
    await change(failed.webhookId, "status = 'pending', in_backlog = true");
    const round = await new MockActivityEnvironment().run(failed.activities.drainBacklog, {
      webhookId: failed.webhookId,
      width: 4,
    });
    assert.deepEqual(round, { isMore: true, isWell: true, isCrowded: true });
    assert.equal(receiver.requests.length, failed.before);
  });
});

describe('a large number of manual retries', function () {
  // Eight slots.
  const world = useOwnDeliveries({
    environment: { ATTEMPTS_AT_ONCE: '4', ATTEMPTS_AT_ONCE_PER_WEBHOOK: '1' },
  });
  const RETRIES = 24;

  it('does not delay retries and tests of other webhooks, and all are made', async () => {
    const [hanging, good] = [await startReceiver(), await startReceiver()];
    const another = randomUUID();
    await world.database.em
      .fork()
      .insert(Workspace, { id: another, name: 'Another', created_at: new Date() });
    const stuckId = await world.webhook({ url: hanging.url });
    const goodId = await world.webhook({ url: good.url, workspaceId: another });
    await world.publish(Array.from({ length: RETRIES }, () => ({})));
    await world.publish([{}], another);
    const [other, ...stuck] = await eventually('all are delivered', async () => {
      const rows = [...(await world.deliveries(goodId)), ...(await world.deliveries(stuckId))];
      return rows.length === 1 + RETRIES && rows.every(({ status }) => status === 'succeeded') && rows;
    });
    assert.ok(other);
    const held: ServerResponse[] = [];
    hanging.answering((_request, response) => {
      held.push(response);
      return undefined;
    });
    for (const row of stuck) await world.requestRetry(row);
    await world.control.makeManualRetries(stuckId);
    await hanging.receives(RETRIES + 1);
    for (const trigger of ['manual', 'test'] as const) {
      await world.control.attemptAndWait({ deliveryId: other.id, trigger, token: randomUUIDv7() });
    }
    assert.deepEqual(
      [good.requests.length, hanging.requests.length],
      [3, RETRIES + 1],
      'while the first receiver hangs',
    );
    hanging.answering(204);
    for (const response of held) response.writeHead(204).end();
    await world.client.workflow.getHandle(manualRetriesWorkflowId(stuckId)).result();
    assert.equal(hanging.requests.length, 2 * RETRIES);
    assert.ok((await world.deliveries(stuckId)).every(({ attempts_count: attempts }) => attempts === 2));
    await Promise.all([hanging.close(), good.close()]);
  });
});
