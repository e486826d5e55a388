import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { Runtime, Worker, type NativeConnection } from '@temporalio/worker';
import { sql } from 'kysely';
import { pino } from 'pino';
import { createRetentionActivities } from '../../src/activities/retention.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import { ensureRetentionSchedule } from '../../src/temporal/retention-schedule.ts';
import { retentionScheduleId } from '../../src/temporal/delivery-messages.ts';
import { taskQueues } from '../../src/temporal/task-messages.ts';
import { readConfiguration } from '../../src/runtime/configuration.ts';
import { openMaintenance } from '../../src/runtime/maintenance.ts';
import { workflowBundle } from '../../src/runtime/bundle.ts';
import { connectTemporal } from '../../src/runtime/temporal.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { startReceiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import { useRuntime } from '../support/runs.ts';
import { services } from '../support/services.ts';
import {
  ago,
  count,
  DAY_MS,
  KEPT,
  runActivity,
  startWorld,
  storeDeliveries,
  storeNotification,
  storeWebhook,
  type World,
  assertGoesInBatches,
} from './old-rows.ts';
import { skippingEngine, startTimeSkipping } from '../support/time-skipping.ts';

const RING = `a:${Buffer.alloc(32, 1).toString('base64')}`;

describe('the retention Schedule', function () {
  let world: World;
  let client: Client;
  let connection: NativeConnection;
  let taskQueue: string;

  before(async () => {
    process.env['TEMPORAL_ADDRESS'] = services().temporalAddress;
    useRuntime(pino({ level: 'silent' }));
    ({ client, connection } = await connectTemporal());
  });
  after(() => connection.close());
  beforeEach(async () => {
    world = await startWorld();
    taskQueue = `test-${randomUUIDv7()}`;
  });
  afterEach(async () => {
    await client.schedule.getHandle(retentionScheduleId(taskQueue)).delete();
    await world.close();
  });

  /** Triggers the schedule. Returns the result of its execution. */
  async function trigger(): Promise<Record<string, number>> {
    await using closing = new AsyncDisposableStack();
    const configuration = readConfiguration({
      DATABASE_URL: 'postgres://localhost/baton',
      BATON_SEALING_KEYS: RING,
      BATON_TOKEN_KEYS: RING,
    });
    const worker = await Worker.create({
      connection,
      taskQueue: taskQueues(taskQueue).deliveries,
      workflowBundle: await workflowBundle(Runtime.instance().logger),
      activities: await openMaintenance(closing, { configuration, database: world.database }),
    });
    const handle = client.schedule.getHandle(retentionScheduleId(taskQueue));
    // The result must not depend on how recent the attempts are.
    await handle.update(({ action, ...rest }) => ({
      ...rest,
      action: { ...action, args: [{ settleSeconds: 0 }] },
    }));
    const before = (await handle.describe()).info.recentActions.length;
    return await worker.runUntil(async () => {
      await handle.trigger();
      const started = await eventually('the schedule has started an execution', async () => {
        const { recentActions } = (await handle.describe()).info;
        return (recentActions.length > before && recentActions.at(-1)) || null;
      });
      return (await client.workflow.getHandle(started.action.workflow.workflowId).result()) as Record<
        string,
        number
      >;
    });
  }

  it('removes old rows, and keeps the others', async () => {
    for (const days of [100, 91]) await storeDeliveries(world, { at: ago(days), status: 'failed' });
    for (const days of [89, 31]) await storeDeliveries(world, { at: ago(days) });
    for (const days of [29, 0]) await storeDeliveries(world, { at: ago(days), status: 'held' });
    for (const days of [8, 6]) await storeDeliveries(world, { at: ago(days), status: 'skipped' });
    // A manual retry of a skipped delivery has failed.
    await storeDeliveries(world, { at: ago(10), status: 'failed' });
    await world.database.em
      .fork()
      .execute(
        `update deliveries set status = 'skipped' where created_at between now() - interval '11 d' and now() - interval '9 d'`,
      );
    for (const days of [91, 89]) await storeNotification(world, ago(days));
    const [gone, full, young] = [randomUUIDv7(), randomUUIDv7(), randomUUIDv7()];
    await storeWebhook(world, gone, ago(91));
    await storeWebhook(world, full, ago(91));
    await storeWebhook(world, young, ago(89));
    await storeDeliveries(world, { at: ago(1), webhook: full });

    await ensureRetentionSchedule(client, taskQueue);
    assert.deepEqual(await trigger(), {
      payloads: 4,
      answers: 4,
      skipped: 1,
      deliveries: 2,
      events: 2,
      groups: 4,
      notifications: 1,
      webhooks: 1,
    });
    assert.equal(await count(world, 'events'), 8);
    assert.equal(await count(world, 'events', 'body is null'), 2);
    const remaining = "(words like '%secret%' or search is not null)";
    assert.equal(await count(world, 'events', `body is null and ${remaining}`), 0);
    assert.equal(await count(world, 'deliveries'), 7);
    assert.equal(await count(world, 'deliveries', "status = 'skipped'"), 2);
    assert.equal(await count(world, 'delivery_attempts'), 6);
    assert.equal(
      await count(world, 'delivery_attempts', 'response_body is null and response_headers is null'),
      2,
    );
    assert.equal(await count(world, 'delivery_attempts', 'response_status = 200'), 6);
    assert.equal(await count(world, 'event_groups'), 6);
    assert.equal(await count(world, 'notifications'), 1);
    assert.equal(await count(world, 'webhooks', `id = '${gone}'`), 0);
    assert.equal(await count(world, 'webhooks'), 3);

    const again = await trigger();
    assert.deepEqual(new Set(Object.values(again)), new Set([0]), JSON.stringify(again));
  });

  it('runs every hour without overlap, and every starting worker corrects its settings', async () => {
    await Promise.all([1, 2, 3].map(() => ensureRetentionSchedule(client, taskQueue)));
    const handle = client.schedule.getHandle(retentionScheduleId(taskQueue));
    const every = async () => (await handle.describe()).spec.intervals?.[0]?.every;
    // A concurrent update could undo an operator's pause.
    assert.equal(
      (await handle.describe()).info.lastUpdatedAt,
      undefined,
      'a correct Schedule is not updated',
    );
    await handle.pause('while we look');
    // Temporal's own workflows maintain Schedules, which takes time on a busy machine.
    const paused = async () => (await handle.describe()).state.paused;
    await eventually('the Schedule is paused', paused);
    await handle.update((previous) => ({ ...previous, spec: { intervals: [{ every: '3 days' }] } }));
    await eventually('the interval is changed', async () => (await every()) === 3 * DAY_MS);
    await ensureRetentionSchedule(client, taskQueue);
    await eventually('the interval is corrected', async () => (await every()) === 3_600_000);
    const { policies, state, action } = await handle.describe();
    assert.equal(policies.overlap, 'SKIP');
    assert.equal(action.type === 'startWorkflow' && action.workflowType, 'maintenance');
    assert.deepEqual([state.paused, state.note], [true, 'while we look']);
  });
});

describe('a delivery worker', function () {
  it('works without Schedules, and logs that they are missing', async () => {
    const environment = await startTimeSkipping();
    const world = await startDeliveries({ engine: skippingEngine(environment) });
    const receiver = await startReceiver();
    try {
      await world.webhook({ url: receiver.url });
      await world.publish([{}]);
      await receiver.receives(1);
      await eventually('the failure is logged', () =>
        /cannot set up the retention Schedule/.test(world.logged()),
      );
    } finally {
      await world.close();
      await receiver.close();
      await environment.teardown();
    }
  });

  it('creates its Schedule', async () => {
    const world = await startDeliveries();
    try {
      const handle = world.client.schedule.getHandle(retentionScheduleId(world.configuration.taskQueue));
      await eventually('the Schedule exists', async () => await handle.describe().catch(() => null));
      await handle.delete();
    } finally {
      await world.close();
    }
  });
});

describe('the removal of old rows', function () {
  let world: World;
  beforeEach(async () => {
    world = await startWorld();
  });
  afterEach(() => world.close());

  const activities = (clock?: () => Date) =>
    createRetentionActivities({ database: world.database, kept: KEPT, ...(clock ? { clock } : {}) });

  it('deletes at most 5,000 rows per batch', async () => {
    await assertGoesInBatches(world, { old: 11_000, young: 100 });
  });

  it('continues after an interruption, with the same count', async () => {
    await storeDeliveries(world, { at: ago(100), rows: 12_000 });
    const { eraseEventPayloads } = activities();
    await assert.rejects(runActivity(eraseEventPayloads, { cancelAfterBeats: 1 }));
    assert.equal(await count(world, 'events', 'body is null'), 5_000);
    const { rows } = await runActivity(eraseEventPayloads, { heartbeatDetails: { rows: 5_000 } });
    assert.equal(rows, 12_000);
    assert.equal(await count(world, 'events', 'body is not null'), 0);
  });

  it('erases a batch that has failed in the next execution', async () => {
    await storeDeliveries(world, { at: ago(40), rows: 5 });
    const db = queryBuilderOf(world.database);
    for (const [table, activity] of [
      ['events', activities().eraseEventPayloads],
      ['delivery_attempts', activities().eraseAnswers],
    ] as const) {
      await sql`
        create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`.execute(
        db,
      );
      const on = sql.raw(`on ${table}`);
      await sql`create trigger refuse before update ${on} for each row execute function refuse()`.execute(db);
      await assert.rejects(runActivity(activity), /refused/);
      await sql`drop function refuse cascade`.execute(db);
      assert.equal((await runActivity(activity)).rows, 5, table);
    }
  });

  it('reads no row twice', async () => {
    await storeDeliveries(world, { at: ago(40), rows: 6_000 });
    await storeDeliveries(world, { at: new Date(Date.now() - 30 * DAY_MS + 60_000), rows: 10 });
    const { eraseEventPayloads, eraseAnswers } = activities();
    for (const activity of [eraseEventPayloads, eraseAnswers])
      assert.equal((await runActivity(activity)).rows, 6_000);
    await sql`update events set body = 'back' where seq <= 3`.execute(queryBuilderOf(world.database));
    const later = activities(() => new Date(Date.now() + 3_600_000));
    for (const activity of [later.eraseEventPayloads, later.eraseAnswers]) {
      assert.equal((await runActivity(activity)).rows, 10);
    }
    assert.equal(await count(world, 'events', "body = 'back'"), 3);
  });

  it('waits for an event of a process whose clock is ahead, and removes it in the next execution', async () => {
    await storeDeliveries(world, { at: ago(40), rows: 5 });
    await storeDeliveries(world, { at: ago(29.99), rows: 1 });
    await storeDeliveries(world, { at: ago(31), rows: 5 });
    assert.equal((await runActivity(activities().eraseEventPayloads)).rows, 5);
    const later = activities(() => new Date(Date.now() + 3_600_000));
    assert.equal((await runActivity(later.eraseEventPayloads)).rows, 6);
  });
});
