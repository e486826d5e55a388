import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { MockActivityEnvironment, TestWorkflowEnvironment } from '@temporalio/testing';
import { Runtime, Worker, type NativeConnection } from '@temporalio/worker';
import { sql } from 'kysely';
import { pino } from 'pino';
import { BATCH_ROWS, createRetentionActivities } from '../../src/activities/retention.ts';
import { statements } from '../../src/database/connect.ts';
import { ensureRetentionSchedule } from '../../src/workflows/control-maintenance.ts';
import { retentionScheduleId } from '../../src/workflows/delivery-messages.ts';
import { taskQueues } from '../../src/workflows/messages.ts';
import { workflowBundle } from '../../workers/bundle.ts';
import { connectTemporal } from '../../workers/temporal.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { freshInstallation, type FreshInstallation } from '../support/installation.ts';
import { startReceiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import { useRuntime } from '../support/runs.ts';
import { services } from '../support/services.ts';

const DAY_MS = 24 * 3_600_000;
const TAKEN_UP_MS = 30_000;
const KEPT = { payloads: 30, deliveries: 90, skipped: 7, notifications: 90 };

type World = FreshInstallation & { webhookId: string };

async function startWorld(poolSize = 10): Promise<World> {
  const webhookId = randomUUIDv7();
  const world = { ...(await freshInstallation({ poolSize })), webhookId };
  await storeWebhook(world, webhookId, null);
  return world;
}

async function storeWebhook({ database, installation }: World, id: string, deletedAt: Date | null) {
  await sql`
    insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at, deleted_at)
    values (${id}::uuid, ${installation.workspace_id}::uuid, 'Hook', 'https://example.com/', '[]', 'user:x',
      now(), now(), ${deletedAt?.toISOString() ?? null}::timestamptz)`.execute(statements(database));
}

const ago = (days: number) => new Date(Date.now() - days * DAY_MS);

/**
 * Stores `rows` events, a millisecond apart from `at` on, each with its group, a delivery of this status and, unless
 * that is skipped, an attempt.
 */
async function storeDeliveries(
  { database, installation, webhookId }: World,
  {
    at,
    rows = 1,
    status = 'succeeded',
    webhook = webhookId,
  }: { at: Date; rows?: number; status?: string; webhook?: string },
): Promise<void> {
  const begin = at.toISOString();
  const db = statements(database);
  await sql`
    with row as materialized (
      select n, ${begin}::timestamptz + n * interval '1 ms' as at,
        (lpad(to_hex((extract(epoch from ${begin}::timestamptz) * 1000)::bigint + n), 12, '0')
          || '7' || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid as id
      from generate_series(0, ${rows - 1}) as n
    ), grouped as (
      insert into event_groups (id, created_at, started_at, done_at) select id, at, at, at from row
    ), event as (
      insert into events (workspace_id, id, group_id, event, "timestamp", content_hash, body, words, received_at)
      select ${installation.workspace_id}::uuid, 'evt_' || id, id, 'issue.created', at, '\\x00', '{"secret":1}',
        'a secret title', at
      from row order by n
      returning seq, group_id as id, received_at as at
    ), delivery as (
      insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, attempts_count,
        created_at, updated_at)
      select id, ${installation.workspace_id}::uuid, ${webhook}::uuid, seq, 'evt_' || id, 'issue.created', ${status},
        (${status} <> 'skipped')::integer, at, at
      from event
    )
    insert into delivery_attempts (delivery_id, number, trigger, attempted_at, url, request_headers,
      response_status, response_headers, response_body, timings)
    select id, 1, 'automatic', at, 'https://example.com/', '{}', 200, '{"x":"y"}', 'an answer', '{}'
    from row where ${status} <> 'skipped'`.execute(db);
}

async function storeNotification({ database, installation }: World, at: Date): Promise<void> {
  await sql`
    insert into notifications (id, workspace_id, user_id, kind, subject, created_at)
    select ${randomUUIDv7()}::uuid, ${installation.workspace_id}::uuid, id, 'webhook.disabled', 'webhook:x',
      ${at.toISOString()}::timestamptz
    from users limit 1`.execute(statements(database));
}

/** How many rows a condition holds for. */
async function count({ database }: World, table: string, where = 'true'): Promise<number> {
  const { rows } = await sql<{ count: string }>`
    select count(*) from ${sql.raw(table)} where ${sql.raw(where)}`.execute(statements(database));
  return Number(rows[0]?.count);
}

describe('the Schedule of the retention', function () {
  this.timeout(120_000);
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

  /** Triggers the schedule and answers what its execution answered. */
  async function trigger(): Promise<Record<string, number>> {
    const worker = await Worker.create({
      connection,
      taskQueue: taskQueues(taskQueue).deliveries,
      workflowBundle: await workflowBundle(Runtime.instance().logger),
      activities: createRetentionActivities({ database: world.database, kept: KEPT }),
    });
    const handle = client.schedule.getHandle(retentionScheduleId(taskQueue));
    // An attempt's time to settle is for the clock alone.
    await handle.update(({ action, ...rest }) => ({
      ...rest,
      action: { ...action, args: [{ settleSeconds: 0 }] },
    }));
    const before = (await handle.describe()).info.recentActions.length;
    return await worker.runUntil(async () => {
      await handle.trigger();
      const started = await eventually('the schedule has started it', async () => {
        const { recentActions } = (await handle.describe()).info;
        return (recentActions.length > before && recentActions.at(-1)) || null;
      });
      return (await client.workflow.getHandle(started.action.workflow.workflowId).result()) as Record<
        string,
        number
      >;
    });
  }

  it('has old rows removed, and leaves the others', async () => {
    for (const days of [100, 91]) await storeDeliveries(world, { at: ago(days), status: 'failed' });
    for (const days of [89, 31]) await storeDeliveries(world, { at: ago(days) });
    for (const days of [29, 0]) await storeDeliveries(world, { at: ago(days), status: 'held' });
    for (const days of [8, 6]) await storeDeliveries(world, { at: ago(days), status: 'skipped' });
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
    assert.equal(await count(world, 'events'), 7);
    assert.equal(await count(world, 'events', 'body is null'), 2);
    assert.equal(await count(world, 'events', "body is null and words like '%secret%'"), 0);
    assert.equal(await count(world, 'deliveries'), 6);
    assert.equal(await count(world, 'deliveries', "status = 'skipped'"), 1);
    assert.equal(await count(world, 'delivery_attempts'), 5);
    assert.equal(
      await count(world, 'delivery_attempts', 'response_body is null and response_headers is null'),
      2,
    );
    assert.equal(await count(world, 'delivery_attempts', 'response_status = 200'), 5);
    assert.equal(await count(world, 'event_groups'), 5);
    assert.equal(await count(world, 'notifications'), 1);
    assert.equal(await count(world, 'webhooks', `id = '${gone}'`), 0);
    assert.equal(await count(world, 'webhooks'), 3);

    const again = await trigger();
    assert.deepEqual(new Set(Object.values(again)), new Set([0]), JSON.stringify(again));
  });

  it('goes on every hour, one execution at a time, and is brought up to date by every worker that starts', async () => {
    await Promise.all([1, 2, 3].map(() => ensureRetentionSchedule(client, taskQueue)));
    const handle = client.schedule.getHandle(retentionScheduleId(taskQueue));
    const every = async () => (await handle.describe()).spec.intervals?.[0]?.every;
    await handle.pause('while we look');
    // Temporal's own workflows look after Schedules; on a crowded machine that takes its time.
    const paused = async () => (await handle.describe()).state.paused;
    await eventually('it is paused', paused, TAKEN_UP_MS);
    await handle.update((previous) => ({ ...previous, spec: { intervals: [{ every: '3 days' }] } }));
    await eventually('it is rarer', async () => (await every()) === 3 * DAY_MS, TAKEN_UP_MS);
    await ensureRetentionSchedule(client, taskQueue);
    await eventually('it is as it should be', async () => (await every()) === 3_600_000, TAKEN_UP_MS);
    const { policies, state, action } = await handle.describe();
    assert.equal(policies.overlap, 'SKIP');
    assert.equal(action.type === 'startWorkflow' && action.workflowType, 'maintenance');
    assert.deepEqual([state.paused, state.note], [true, 'while we look']);
  });
});

describe('a delivery worker', function () {
  it('whose Temporal has no Schedules says so and works on', async () => {
    useRuntime(pino({ level: 'silent' }));
    const path = await services().testServerPath();
    const environment = await TestWorkflowEnvironment.createTimeSkipping({
      server: { executable: { type: 'existing-path', path } },
    });
    const world = await startDeliveries({
      engine: {
        connection: environment.nativeConnection,
        client: environment.client,
        namespace: environment.namespace ?? 'default',
        time: () => environment.currentTimeMs(),
      },
    });
    const receiver = await startReceiver();
    try {
      await world.webhook({ url: receiver.url });
      await world.publish([{}]);
      await receiver.receives(1);
      await eventually('it was said', () =>
        /the Schedule of the retention can not be set up/.test(world.logged()),
      );
    } finally {
      await world.close();
      await receiver.close();
      await environment.teardown();
    }
  });

  it('has its Schedule made', async () => {
    const world = await startDeliveries();
    try {
      const handle = world.client.schedule.getHandle(retentionScheduleId(world.configuration.taskQueue));
      await eventually('it is there', async () => await handle.describe().catch(() => null));
      await handle.delete();
    } finally {
      await world.close();
    }
  });
});

describe('the removal of old rows', function () {
  this.timeout(120_000);
  let world: World;
  beforeEach(async () => {
    world = await startWorld();
  });
  afterEach(() => world.close());

  const activities = (clock?: () => Date) =>
    createRetentionActivities({ database: world.database, kept: KEPT, ...(clock ? { clock } : {}) });

  /** Runs an activity and answers its answer with what it told of itself on the way. */
  async function run(
    activity: () => Promise<number>,
    options: { heartbeatDetails?: unknown; cancelAfterBeats?: number } = {},
  ) {
    const environment = new MockActivityEnvironment({ heartbeatDetails: options.heartbeatDetails });
    const beats: { rows: number }[] = [];
    environment.on('heartbeat', (beat: { rows: number }) => {
      beats.push(beat);
      if (beats.length === options.cancelAfterBeats) environment.cancel();
    });
    const rows = (await environment.run(activity)) as number;
    return { rows, beats };
  }

  it('of a hundred thousand goes in batches of five thousand at most', async () => {
    const many = 100_000;
    await storeDeliveries(world, { at: ago(100), rows: many });
    await storeDeliveries(world, { at: ago(10), rows: 1_000 });
    await sql`analyze`.execute(statements(world.database));
    const { eraseEventPayloads, eraseAnswers, removeDeliveries, removeEvents, removeGroups } = activities();
    for (const activity of [eraseEventPayloads, eraseAnswers, removeDeliveries, removeEvents, removeGroups]) {
      const { rows, beats } = await run(activity);
      assert.equal(rows, many);
      const steps = beats.map((beat, index) => beat.rows - (beats[index - 1]?.rows ?? 0));
      assert.ok(Math.max(...steps) <= BATCH_ROWS, `${Math.max(...steps)}`);
      assert.ok(beats.length <= many / BATCH_ROWS + 1, `${beats.length} batches`);
    }
    for (const table of ['events', 'deliveries', 'delivery_attempts', 'event_groups']) {
      assert.equal(await count(world, table), 1_000, table);
    }
  });

  it('goes on where it was cut off, and counts on', async () => {
    await storeDeliveries(world, { at: ago(100), rows: 12_000 });
    const { eraseEventPayloads } = activities();
    await assert.rejects(run(eraseEventPayloads, { cancelAfterBeats: 1 }));
    assert.equal(await count(world, 'events', 'body is null'), 5_000);
    const { rows } = await run(eraseEventPayloads, { heartbeatDetails: { rows: 5_000 } });
    assert.equal(rows, 12_000);
    assert.equal(await count(world, 'events', 'body is not null'), 0);
  });

  it('looks at nothing twice: an hour later only at the rows of that hour', async () => {
    await storeDeliveries(world, { at: ago(40), rows: 6_000 });
    await storeDeliveries(world, { at: new Date(Date.now() - 30 * DAY_MS + 60_000), rows: 10 });
    const { eraseEventPayloads, eraseAnswers } = activities();
    for (const activity of [eraseEventPayloads, eraseAnswers])
      assert.equal((await run(activity)).rows, 6_000);
    await sql`update events set body = 'back' where seq <= 3`.execute(statements(world.database));
    const later = activities(() => new Date(Date.now() + 3_600_000));
    for (const activity of [later.eraseEventPayloads, later.eraseAnswers]) {
      assert.equal((await run(activity)).rows, 10);
    }
    assert.equal(await count(world, 'events', "body = 'back'"), 3);
  });

  it('waits for an event of a process whose clock is ahead, and takes it with the next turn', async () => {
    await storeDeliveries(world, { at: ago(40), rows: 5 });
    await storeDeliveries(world, { at: ago(29.99), rows: 1 });
    await storeDeliveries(world, { at: ago(31), rows: 5 });
    assert.equal((await run(activities().eraseEventPayloads)).rows, 5);
    const later = activities(() => new Date(Date.now() + 3_600_000));
    assert.equal((await run(later.eraseEventPayloads)).rows, 6);
  });

  it('reads no table whole, however many rows it has', async () => {
    const one = await startWorld(1);
    try {
      for (const days of [120, 60, 3]) {
        await storeDeliveries(one, { at: ago(days), rows: 10_000 });
        await storeDeliveries(one, { at: ago(days - 1), rows: 2_000, status: 'skipped' });
      }
      await sql`analyze`.execute(statements(one.database));
      const tables = ['events', 'deliveries', 'delivery_attempts', 'event_groups'];
      const before = await sequentialScans(one, tables);
      const all = createRetentionActivities({ database: one.database, kept: KEPT });
      const inOrder: (() => Promise<number>)[] = [
        all.eraseEventPayloads,
        all.eraseAnswers,
        all.removeSkipped,
        all.removeDeliveries,
        all.removeEvents,
        all.removeGroups,
      ];
      for (const activity of inOrder) assert.ok((await run(activity)).rows > 0);
      assert.deepEqual(await sequentialScans(one, tables), before);
    } finally {
      await one.close();
    }
  });
});

/** How often each table was read whole so far, by the world's only connection. */
async function sequentialScans({ database }: World, tables: readonly string[]) {
  const db = statements(database);
  await sql`select pg_stat_force_next_flush()`.execute(db);
  const { rows } = await sql<{ relname: string; seq_scan: string }>`
    select relname, seq_scan from pg_stat_user_tables where relname = any(${[...tables]}::text[]) order by relname
  `.execute(db);
  return rows;
}
