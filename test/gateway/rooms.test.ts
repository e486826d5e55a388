import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mock } from 'node:test';
import type { Logger } from 'pino';
import type { Notifications } from '../../src/database/common/notifications.ts';
import type { TokenHolder } from '../../src/database/people/token-holders.ts';
import { viewOfRow } from '../../src/database/tasks/run-views.ts';
import { findRun } from '../../src/database/tasks/task-runs.ts';
import { SCOPES } from '../../src/domain/people/access.ts';
import type { RunView } from '../../src/domain/tasks/run-schemas.ts';
import { createMetricsRecorder } from '../../src/gateway/metrics.ts';
import type { OpenRoom } from '../../src/gateway/rooms.ts';
import type { RunFeeds } from '../../src/gateway/run-feeds.ts';
import { createRunRooms } from '../../src/gateway/run-rooms.ts';
import { createWebhookRooms } from '../../src/gateway/webhook-rooms.ts';
import { eventually } from '../support/eventually.ts';
import { holdTimers } from '../support/held-timers.ts';
import { useInstallation } from '../support/installation.ts';
import { quietRun, writeEvents } from './quiet-runs.ts';

describe('the rooms of a gateway', () => {
  // With one connection, statements are executed in their order.
  const fresh = useInstallation({ poolSize: 1 });
  const holder = (): TokenHolder => ({
    workspaceId: fresh.installation.workspace_id,
    projectId: fresh.installation.project_id,
    scopes: SCOPES,
    actor: 'token:x',
    label: 'token:x',
  });
  const execute = (statement: string, values: unknown[] = []) =>
    fresh.database.em.fork().execute(statement, values);

  describe('of runs', () => {
    /** `asked` counts the queries of workflows. A query waits for `beforeAnswer`. */
    function setUp() {
      const state = { asked: 0, beforeAnswer: async (): Promise<void> => {}, followedAfter: [] as number[] };
      const feeds = {
        follow(_id: string, after: number) {
          state.followedAfter.push(after);
          return () => {};
        },
      } as unknown as RunFeeds;
      const rooms = createRunRooms({
        database: fresh.database,
        feeds,
        async askWorkflow(id): Promise<RunView | null> {
          state.asked += 1;
          await state.beforeAnswer();
          const row = await findRun(fresh.database, id);
          return row && { ...viewOfRow(row), last_seq: row.last_seq };
        },
      });
      return { rooms, state };
    }

    it('ask the workflow once for clients that join at once, and again for a later one', async () => {
      const { rooms, state } = setUp();
      const run = await quietRun(fresh.database, fresh.installation);
      const answering = Promise.withResolvers<void>();
      state.beforeAnswer = () => answering.promise;
      const joining = [0, 1, 2].map(() => rooms.open(holder(), run, null));
      await findRun(fresh.database, run);
      answering.resolve();
      await Promise.all(joining);
      assert.equal(state.asked, 1);
      await rooms.open(holder(), run, null);
      assert.equal(state.asked, 2);
    });

    it('ask the workflow again for a client that joins after a new event, and show what is stored then', async () => {
      const { rooms, state } = setUp();
      const run = await quietRun(fresh.database, fresh.installation);
      const answering = Promise.withResolvers<void>();
      state.beforeAnswer = () => answering.promise;
      const first = rooms.open(holder(), run, null);
      await eventually('the workflow is asked', () => state.asked === 1);
      await writeEvents(fresh.database, run, { count: 3, bytes: 1 });
      const second = rooms.open(holder(), run, null);
      await eventually('the workflow is asked again', () => state.asked === 2);
      answering.resolve();
      await first;
      const opened = (await second) as OpenRoom;
      const row = await findRun(fresh.database, run);
      assert.ok(row);
      assert.deepEqual(opened.snapshot, { execution_id: run, ...viewOfRow(row), last_seq: 3 });
      assert.equal(opened.last_seq, 3);
      opened.follow({} as never);
      assert.deepEqual(state.followedAfter, [3]);
    });

    it('ask again after a failure', async () => {
      const { rooms, state } = setUp();
      const run = await quietRun(fresh.database, fresh.installation);
      state.beforeAnswer = () => Promise.reject(new Error('the database is unavailable'));
      await assert.rejects(rooms.open(holder(), run, null), /unavailable/);
      state.beforeAnswer = async () => {};
      assert.equal(typeof (await rooms.open(holder(), run, null)), 'object');
    });

    it('continue after the requested event, up to the last one', async () => {
      const { rooms, state } = setUp();
      const run = await quietRun(fresh.database, fresh.installation);
      await writeEvents(fresh.database, run, { count: 3, bytes: 1 });
      for (const after of [0, 3]) {
        const room = (await rooms.open(holder(), run, after)) as OpenRoom;
        room.follow({} as never);
      }
      assert.deepEqual(state.followedAfter, [0, 3]);
      assert.equal(await rooms.open(holder(), run, 4), 'invalid_message');
    });

    it('are closed to a holder without the scope', async () => {
      const { rooms } = setUp();
      const run = await quietRun(fresh.database, fresh.installation);
      const scopes = SCOPES.filter((scope) => scope !== 'tasks:read');
      assert.equal(await rooms.open({ ...holder(), scopes }, run, null), 'forbidden');
    });

    it('are closed to another project of their workspace', async () => {
      const { rooms } = setUp();
      const run = await quietRun(fresh.database, fresh.installation);
      assert.equal(await rooms.open({ ...holder(), projectId: randomUUID() }, run, null), 'forbidden');
    });
  });

  describe('of webhooks', () => {
    function setUp() {
      const subscribed = new Set<string>();
      const warnings: string[] = [];
      let announce = (_id: string, _rest: string | null): void => assert.fail('nobody listens');
      const notifications = {
        subscribe(channel: string, id: string, listener: typeof announce) {
          assert.equal(channel, 'deliveries');
          announce = listener;
          subscribed.add(id);
          return () => void subscribed.delete(id);
        },
      } as unknown as Notifications;
      const clock = () => new Date();
      const rooms = createWebhookRooms({
        database: fresh.database,
        notifications,
        metrics: createMetricsRecorder(clock),
        clock,
        log: { warn: (_: object, text: string) => void warnings.push(text) } as unknown as Logger,
      });
      return { rooms, subscribed, warnings, announce: (rest: string | null) => announce('', rest) };
    }

    /** Joins a room. Returns what is sent: the ids of deliveries, or `webhook`. */
    async function follow({ rooms }: ReturnType<typeof setUp>, id: string): Promise<string[]> {
      const sent: string[] = [];
      const room = (await rooms.open(holder(), id, null)) as OpenRoom;
      room.follow({
        id: '',
        send(message) {
          const { event } = JSON.parse(message.plainBytes.toString());
          assert.equal(event.webhook_id, id);
          sent.push(event.type === 'webhook.changed' ? 'webhook' : event.delivery.id);
        },
        pendingBytes: () => 0,
        onceDrained: () => {},
        close: () => assert.fail('it was closed'),
      });
      return sent;
    }

    /** Stores a delivery of a webhook that changed so many seconds ago. Returns its id. */
    async function insertDelivery(webhookId: string, secondsAgo: number): Promise<string> {
      const { workspace_id: workspaceId } = fresh.installation;
      const [row] = await execute(
        `with event as (
           insert into events (workspace_id, id, event, "timestamp", content_hash, body, received_at)
           values (?, ?, 'issue.created', now(), '', '{}', now()) returning seq
         )
         insert into deliveries
           (id, workspace_id, webhook_id, event_seq, event_id, event, status, created_at, updated_at)
         select gen_random_uuid(), ?, ?, seq, 'e', 'issue.created', 'pending', now(), now() - make_interval(secs => ?)
         from event returning id`,
        [workspaceId, `evt_${randomUUID()}`, workspaceId, webhookId, secondsAgo],
      );
      return row?.['id'];
    }

    async function insertWebhook(): Promise<string> {
      const id = randomUUID();
      await execute(
        `insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at)
         values (?, ?, 'Test', 'https://example.com/', '[]', 'system', now(), now())`,
        [id, fresh.installation.workspace_id],
      );
      return id;
    }

    it('are closed to another workspace, and to a holder without the scope', async () => {
      const { rooms, subscribed } = setUp();
      const id = await insertWebhook();
      const scopes = SCOPES.filter((scope) => scope !== 'webhooks:read');
      for (const other of [{ workspaceId: randomUUID() }, { scopes }])
        assert.equal(await rooms.open({ ...holder(), ...other }, id, null), 'forbidden');
      assert.deepEqual([rooms.count(), subscribed.size], [0, 0]);
      assert.equal(typeof (await rooms.open({ ...holder(), projectId: randomUUID() }, id, null)), 'object');
      rooms.close();
    });

    it('can be joined after a join that failed', async () => {
      const { rooms, subscribed } = setUp();
      const id = await insertWebhook();
      await execute('alter table watched_webhooks rename to watched_away');
      await assert.rejects(rooms.open(holder(), id, null));
      assert.deepEqual([rooms.count(), subscribed.size], [0, 0]);
      await execute('alter table watched_away rename to watched_webhooks');
      assert.equal(typeof (await rooms.open(holder(), id, null)), 'object');
      assert.equal(rooms.count(), 1);
      rooms.close();
      assert.deepEqual([rooms.count(), subscribed.size], [0, 0]);
    });

    it('are left by a client whose snapshot could not be read', async () => {
      const { rooms, subscribed } = setUp();
      const id = await insertWebhook();
      await execute('alter table deliveries rename to deliveries_away');
      await assert.rejects(rooms.open(holder(), id, null));
      await execute('alter table deliveries_away rename to deliveries');
      assert.deepEqual([rooms.count(), subscribed.size], [0, 0]);
      rooms.close();
    });

    it('are left by a client that was admitted but does not follow', async () => {
      const { rooms, subscribed } = setUp();
      using timers = holdTimers(30_000);
      try {
        const id = await insertWebhook();
        await rooms.open(holder(), id, null);
        const other = (await rooms.open(holder(), id, null)) as OpenRoom;
        const leave = other.follow({ pendingBytes: () => 0, send: () => {} } as never);
        timers.fire();
        assert.equal(rooms.count(), 1);
        leave();
        assert.deepEqual([rooms.count(), subscribed.size], [0, 0]);
      } finally {
        rooms.close();
      }
    });

    it('stay watched', async () => {
      mock.timers.enable({ apis: ['setInterval'] });
      const { rooms } = setUp();
      try {
        const id = await insertWebhook();
        await rooms.open(holder(), id, null);
        const isWatched = async () =>
          (await execute('select from watched_webhooks where webhook_id = ? and until > now()', [id]))
            .length > 0;
        assert.ok(await isWatched());
        await execute('delete from watched_webhooks');
        mock.timers.tick(30_000);
        await eventually('it is watched again', isWatched);
      } finally {
        rooms.close();
        mock.timers.reset();
      }
    });

    it('send what changed shortly before they were watched, and what is notified', async () => {
      const world = setUp();
      const id = await insertWebhook();
      const recent = await insertDelivery(id, 30);
      const old = await insertDelivery(id, 90);
      try {
        const sent = await follow(world, id);
        await eventually('the recent one is sent', () => sent.length > 0);
        assert.deepEqual(sent.splice(0), [recent]);
        world.announce(`${old},${recent}`);
        await eventually('both are sent', () => sent.length === 2);
        assert.deepEqual(sent.splice(0).toSorted(), [old, recent].toSorted());
        // Notifications were lost.
        world.announce(null);
        await eventually('all are sent', () => sent.length === 3);
        assert.equal(sent[0], 'webhook');
        assert.deepEqual(sent.slice(1).toSorted(), [old, recent].toSorted());
      } finally {
        world.rooms.close();
      }
    });

    it('send the webhook after their newest deliveries could not be read again', async () => {
      const world = setUp();
      const id = await insertWebhook();
      try {
        const sent = await follow(world, id);
        await execute('alter table deliveries rename to deliveries_away');
        await eventually('the read has failed', () => world.warnings.length > 0);
        await execute('alter table deliveries_away rename to deliveries');
        await eventually('the webhook is sent', () => sent.includes('webhook'));
      } finally {
        world.rooms.close();
      }
    });

    it('send the webhook if it was not watched for a time', async () => {
      mock.timers.enable({ apis: ['setInterval'] });
      const begun = performance.now();
      let passed = 0;
      const now = mock.method(performance, 'now', () => begun + passed);
      const world = setUp();
      try {
        const id = await insertWebhook();
        const sent = await follow(world, id);
        const renew = async (after: number) => {
          passed += after;
          mock.timers.tick(30_000);
          // With one connection, these are executed after the renewal and what it reads.
          for (let count = 0; count < 5; count += 1) await execute('select 1');
        };
        await renew(90_000);
        assert.equal(sent.length, 0, 'it was watched until now');
        await execute('alter table watched_webhooks rename to watched_away');
        await renew(60_000);
        await execute('alter table watched_away rename to watched_webhooks');
        await renew(30_001);
        await eventually('the webhook is sent', () => sent.includes('webhook'));
      } finally {
        world.rooms.close();
        now.mock.restore();
        mock.timers.reset();
      }
    });
  });
});
