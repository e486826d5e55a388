import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { readStoredCounts } from '../../src/database/common/metrics.ts';
import { createRegistry } from '../../src/telemetry/registry.ts';
import {
  collectChannelMetrics,
  collectDatabaseMetrics,
  collectPoolMetrics,
  type ChannelStatistics,
  type DatabaseStatistics,
} from '../../src/telemetry/collectors.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { freshInstallation } from '../support/installation.ts';
import { startReceiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import { startRuns } from '../support/runs.ts';
import { samplesOf, valueOf } from './observed.ts';

describe('the database statistics', function () {
  it('count open runs by state', async () => {
    const runs = await startRuns();
    try {
      const going = await runs.submit({ rehearsal: { step_ms: 60_000 } });
      const paused = await runs.submit({ rehearsal: { step_ms: 60_000 } });
      await runs.reaches(going, 'executing');
      await runs.reaches(paused, 'executing');
      await runs.control.pause(paused, { by: 'test' });
      await runs.reaches(paused, 'paused');
      assert.deepEqual((await readStoredCounts(runs.database)).tasks, {
        initializing: 0,
        planning: 0,
        executing: 1,
        paused: 1,
      });
      for (const id of [going, paused]) await runs.control.cancel(id, { by: 'test' });
      for (const id of [going, paused]) await runs.reaches(id, 'cancelled');
      assert.equal((await readStoredCounts(runs.database)).tasks['executing'], 0);
    } finally {
      await runs.close();
    }
  });

  it('count webhooks by status, and waiting deliveries', async () => {
    const receiver = await startReceiver();
    const deliveries = await startDeliveries();
    try {
      receiver.answering(({ url }) => (url === '/bad' ? 500 : 204));
      await deliveries.webhook({ url: `${receiver.url}/good` });
      await deliveries.webhook({ url: `${receiver.url}/bad` });
      await deliveries.webhook({ url: `${receiver.url}/off`, active: false });
      await deliveries.publish([{}, {}]);
      const figures = await eventually('both failures wait for a retry', async () => {
        const now = await readStoredCounts(deliveries.database);
        return now.deliveriesWaiting['retrying'] === 2 && now.groupsWaiting === 0 && now;
      });
      assert.deepEqual(figures.webhooks, { active: 1, failing: 1, inactive: 1, disabled: 0 });
      assert.deepEqual(figures.deliveriesWaiting, { pending: 0, retrying: 2, held: 0 });
      assert.equal(figures.groupsOldestSeconds, 0);
    } finally {
      await deliveries.close();
      await receiver.close();
    }
  });

  it('include the age of a group of events that was not dispatched', async () => {
    const { database, close } = await freshInstallation();
    try {
      const before = new Date(Date.now() - 90_000);
      await database.em
        .fork()
        .execute('insert into event_groups (id, created_at, events) values (?, ?, 3)', [
          randomUUIDv7(),
          before,
        ]);
      const { groupsWaiting, groupsOldestSeconds, waitingForStart } = await readStoredCounts(database);
      assert.equal(groupsWaiting, 1);
      assert.ok(groupsOldestSeconds >= 89, String(groupsOldestSeconds));
      assert.deepEqual(waitingForStart.tasks, { count: 0, oldestSeconds: 0 });
      assert.equal(waitingForStart.events.count, 3);
      assert.ok(waitingForStart.events.oldestSeconds >= 89);
    } finally {
      await close();
    }
  });
});

describe('the collection of database statistics', () => {
  const FIGURES: DatabaseStatistics = {
    tasks: { executing: 3 },
    webhooks: {},
    deliveriesWaiting: {},
    callbacksWaiting: 0,
    groupsWaiting: 0,
    groupsOldestSeconds: 0,
    waitingForStart: { tasks: { count: 0, oldestSeconds: 0 }, events: { count: 2, oldestSeconds: 7 } },
  };

  it('runs one query for all scrapes within ten seconds', async () => {
    const registry = createRegistry();
    let queries = 0;
    const read = async () => {
      queries += 1;
      return FIGURES;
    };
    collectDatabaseMetrics(registry, read, (error) => assert.fail(String(error)));
    const texts = await Promise.all([registry.text(), registry.text()]);
    texts.push(await registry.text());
    assert.equal(queries, 1);
    for (const text of texts)
      assert.equal(valueOf(samplesOf(text), 'baton_tasks', { state: 'executing' }), 3);
  });

  it('reports their age, from the start if they were never read', async () => {
    const registry = createRegistry();
    let [ms, isAway] = [1_000, true];
    const read = async () => {
      if (isAway) throw new Error('away');
      return FIGURES;
    };
    collectDatabaseMetrics(
      registry,
      read,
      () => {},
      () => ms,
    );
    const age = async () => valueOf(samplesOf(await registry.text()), 'baton_stored_figures_age_seconds');
    ms += 150_000;
    assert.equal(await age(), 150);
    isAway = false;
    assert.equal(await age(), 0);
    isAway = true;
    ms += 30_000;
    assert.equal(await age(), 30);
  });

  it('reports a database error, and keeps other metrics available', async () => {
    const registry = createRegistry();
    registry.family({ name: 'other', type: 'gauge', help: 'x', labels: [] }).of().set(1);
    const errors: unknown[] = [];
    collectDatabaseMetrics(
      registry,
      async () => {
        if (errors.length === 0) throw new Error('away');
        return FIGURES;
      },
      (error) => errors.push(error),
    );
    const samples = samplesOf(await registry.text());
    assert.deepEqual([valueOf(samples, 'other'), valueOf(samples, 'baton_tasks')], [1, null]);
    assert.equal(errors.length, 1);
    const later = samplesOf(await registry.text());
    assert.equal(valueOf(later, 'baton_tasks', { state: 'executing' }), 3, 'the next scrape reads again');
  });
});

describe('the metrics of a process, at each scrape', () => {
  it('contain the connections of its database pool by state', async () => {
    const registry = createRegistry();
    let busy = 0;
    collectPoolMetrics(registry, async () => ({ busy: (busy += 1), idle: 3, waiting: 5 }));
    await registry.text();
    const samples = samplesOf(await registry.text());
    const states = ['busy', 'idle', 'waiting'];
    assert.deepEqual(
      states.map((state) => valueOf(samples, 'baton_database_connections', { state })),
      [2, 3, 5],
    );
  });

  it('contain the statistics of the live channel', async () => {
    const registry = createRegistry();
    let now: ChannelStatistics = {
      connections: 4,
      rooms: { workflow: 2, webhook: 1 },
      events_sent: 10,
      lag_ms: { p50: null, p95: null, max: null },
      dropped: {},
    };
    collectChannelMetrics(registry, () => now);
    const lagOf = (text: string) =>
      ['0.5', '0.95', '1'].map((quantile) =>
        valueOf(samplesOf(text), 'baton_channel_lag_seconds', { quantile }),
      );
    assert.deepEqual(lagOf(await registry.text()), [NaN, NaN, NaN]);
    now = { ...now, lag_ms: { p50: 5, p95: 250, max: 1_500 }, dropped: { slow_reader: 2 } };
    const text = await registry.text();
    const samples = samplesOf(text);
    assert.deepEqual(lagOf(text), [0.005, 0.25, 1.5]);
    assert.equal(valueOf(samples, 'baton_channel_connections'), 4);
    assert.equal(valueOf(samples, 'baton_channel_rooms', { kind: 'workflow' }), 2);
    assert.equal(valueOf(samples, 'baton_channel_events_sent_total'), 10);
    assert.equal(valueOf(samples, 'baton_channel_dropped_total', { code: 'slow_reader' }), 2);
  });
});
