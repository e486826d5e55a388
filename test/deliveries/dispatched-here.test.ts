import assert from 'node:assert/strict';
import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { dispatchWorkflowId } from '../../src/temporal/delivery-messages.ts';
import { taskQueues } from '../../src/temporal/task-messages.ts';
import { bootstrap } from '../../src/api/server.ts';
import type { Running } from '../../src/runtime/process.ts';
import { startDeliveryWorker } from '../../workers/delivery-worker.ts';
import { startTaskWorker } from '../../workers/task-worker.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { useOwnDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';
import { holdTimers } from '../support/held-timers.ts';
import { inTransaction, isWaitingForLock } from '../support/locked.ts';

const silent = pino({ level: 'silent' });
/** The duration of the short activity, in src/activities/deliveries/dispatch.ts. */
const BRIEF_MS = 2_500;

describe('an event that its own process dispatches', () => {
  const world = useOwnDeliveries({ workers: 0 });
  const receiver = useReceiver('each test');
  let api: Running & { url: string };

  before(async () => {
    api = await bootstrap(world.configuration, silent);
  });
  after(() => api?.close());

  async function post(body: object): Promise<void> {
    const response = await fetch(`${api.url}/api/v1/events`, {
      method: 'POST',
      headers: { 'X-API-Key': world.installation.api_key, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 202);
  }
  const eventWith = (id: string) => ({ id, event: 'issue.created', data: { issue: { id: '1' } } });

  /** Publishes an event over HTTP. Returns the id of the workflow that dispatches it. */
  async function publish(): Promise<string> {
    const id = `evt_${randomUUID()}`;
    await post(eventWith(id));
    const rows = await world.database.em
      .fork()
      .execute<{ group_id: string }[]>('select group_id from events where id = ?', [id]);
    return dispatchWorkflowId(rows[0]?.group_id ?? '');
  }

  const historyOf = async (workflowId: string) => {
    const { events } = await world.client.workflow.getHandle(workflowId).fetchHistory();
    return events ?? [];
  };
  const scheduledOf = (events: Awaited<ReturnType<typeof historyOf>>) =>
    events.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled ? [[scheduled.activityType?.name, scheduled.taskQueue?.name]] : [],
    );
  const queues = () => taskQueues(world.configuration.taskQueue);

  it('arrives without a delivery worker, and needs no task queue', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    // The short activity ends with its attempts, however long they take.
    using _timers = holdTimers(BRIEF_MS);
    const workflowId = await publish();
    await receiver.receives(1);
    await world.client.workflow.getHandle(workflowId).result();
    const events = await historyOf(workflowId);
    const started = events[0]?.workflowExecutionStartedEventAttributes;
    assert.equal(started?.taskQueue?.name, queues().runs);
    assert.equal(started?.eagerExecutionAccepted, true);
    assert.deepEqual(scheduledOf(events), []);
    assert.deepEqual(
      (await world.deliveries(webhookId)).map(({ status }) => status),
      ['succeeded'],
    );
    await world.changeWebhook(webhookId, { active: false });
  });

  it('has few concurrent attempts there, even if it goes to many webhooks', async () => {
    const webhooks = await Promise.all(
      Array.from({ length: 30 }, () => world.webhook({ url: receiver.url })),
    );
    let open = 0;
    let most = 0;
    receiver.answering((_request, response) => {
      open += 1;
      most = Math.max(most, open);
      setTimeout(() => {
        open -= 1;
        response.writeHead(204).end();
      }, 200);
      return undefined;
    });
    using _timers = holdTimers(BRIEF_MS);
    const workflowId = await publish();
    await receiver.receives(30);
    await world.client.workflow.getHandle(workflowId).result();
    // Two fifths of the 50 of an API process.
    assert.equal(most, 20);
    for (const id of webhooks) await world.changeWebhook(id, { active: false });
  });

  it('is finished by a delivery worker if its receiver is slow, without another attempt', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    receiver.answering((_request, response) => {
      setTimeout(() => response.writeHead(204).end(), 4_000);
      return undefined;
    });
    const workflowId = await publish();
    await receiver.receives(1);
    await eventually(
      'the rest is scheduled',
      async () => scheduledOf(await historyOf(workflowId)).length > 0,
    );
    assert.deepEqual(scheduledOf(await historyOf(workflowId)), [['finishGroup', queues().deliveries]]);
    const worker = await startDeliveryWorker(world.configuration, silent);
    await world.client.workflow.getHandle(workflowId).result();
    await worker.close();
    assert.equal(receiver.requests.length, 1);
    assert.deepEqual(
      (await world.deliveries(webhookId)).map(({ status }) => status),
      ['succeeded'],
    );
    await world.changeWebhook(webhookId, { active: false });
  });

  it('is sent once and recorded if the process stops at that moment, although its receiver is slow', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    receiver.answering((_request, response) => {
      setTimeout(() => response.writeHead(204).end(), 3_500);
      return undefined;
    });
    // The process stops while its dispatch reads the webhooks.
    const lock = ['lock table webhooks in access exclusive mode'] as const;
    const closing = await inTransaction(world.database, [lock], async (commit) => {
      await post(eventWith(`evt_${randomUUID()}`));
      await eventually('the dispatch waits', () => isWaitingForLock(world.database));
      const closed = api.close();
      await commit();
      return { closed };
    });
    await closing.closed;
    assert.equal(receiver.requests.length, 1);
    assert.deepEqual(
      (await world.deliveries(webhookId)).map(({ status }) => status),
      ['succeeded'],
    );
    await world.changeWebhook(webhookId, { active: false });
    api = await bootstrap(world.configuration, silent);
  });

  it('does not overtake the events of a burst, which a delivery worker sends', async () => {
    const webhookId = await world.webhook({ url: receiver.url });
    receiver.answering((_request, response) => {
      setTimeout(() => response.writeHead(204).end(), 50);
      return undefined;
    });
    const worker = await startDeliveryWorker(world.configuration, silent);
    const burst = Array.from({ length: 60 }, () => `evt_${randomUUID()}`);
    await post({ events: burst.map(eventWith) });
    await receiver.receives(11);
    const last = `evt_${randomUUID()}`;
    await post(eventWith(last));
    const requests = await receiver.receives(61);
    assert.equal(JSON.parse(String(requests.at(-1)?.body)).id, last);
    await worker.close();
    await world.changeWebhook(webhookId, { active: false });
  });
});

describe('an event whose own process died before the dispatch', () => {
  const world = useOwnDeliveries();
  const receiver = useReceiver();
  let worker: Running;

  before(async () => {
    worker = await startTaskWorker(world.configuration, silent);
  });
  after(() => worker?.close());

  it('is dispatched by a delivery worker, since task workers send no webhooks', async () => {
    await world.webhook({ url: receiver.url });
    const { groupId } = await world.store([{ id: `evt_${randomUUIDv7()}` }]);
    await world.control.dispatch([groupId], { here: true });
    await receiver.receives(1);
    const { events } = await world.client.workflow.getHandle(dispatchWorkflowId(groupId)).fetchHistory();
    const scheduled = events?.flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
    // A slow machine may leave the rest to another activity.
    assert.equal(scheduled?.[0]?.activityType?.name, 'dispatchGroup');
  });
});
