import assert from 'node:assert/strict';
import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { startNotifications, type Notifications } from '../../src/database/common/notifications.ts';
import {
  cancelTestDelivery,
  insertTestDelivery,
  type DeliveryRow,
} from '../../src/database/webhooks/deliveries.ts';
import { recordResults } from '../../src/database/webhooks/delivery-results.ts';
import { markUnsent, storeDeliveries } from '../../src/database/webhooks/dispatch.ts';
import { recoverDeliveries } from '../../src/database/webhooks/recovery.ts';
import {
  cancelScheduledRetry,
  recordUnmadeRetry,
  scheduleRetry,
  startScheduledRetry,
} from '../../src/database/webhooks/scheduled-retries.ts';
import { holdOrCancelWaiting } from '../../src/database/webhooks/waiting-deliveries.ts';
import { listNewestDeliveries, markWatched } from '../../src/database/webhooks/watched-webhooks.ts';
import { changeWebhook } from '../../src/database/webhooks/webhooks.ts';
import { useDeliveries } from '../support/deliveries.ts';
import { eventually } from '../support/eventually.ts';
import { successOf } from '../support/results.ts';

describe('the viewers of a webhook are notified of a delivery', () => {
  const world = useDeliveries();
  let notifications: Notifications;
  before(async () => {
    const log = pino({ level: 'silent' });
    notifications = await startNotifications(world.configuration.databaseUrl, log, ['deliveries']);
  });
  after(() => notifications?.close());

  const planned = (webhookId: string) => ({
    id: randomUUIDv7(),
    workspace_id: world.installation.workspace_id,
    webhook_id: webhookId,
    event_seq: 0,
    event_id: `evt_${randomUUID()}`,
    event: 'issue.created' as const,
    status: 'pending' as const,
    reason: null,
  });
  const which = (id: string) => ({
    workspaceId: world.installation.workspace_id,
    id,
    actor: 'test',
    now: new Date(),
  });

  /** Statements that change a delivery, which is stored as `pending`. */
  const STATEMENTS: Readonly<Record<string, (row: DeliveryRow) => Promise<unknown>>> = {
    'has a result': (row) => recordResults(world.database, [successOf(row)]),
    'is not sent': (row) => markUnsent(world.database, [row], 'skipped', 'a reason', new Date()),
    async 'is held'({ webhook_id: webhookId }) {
      await world.changeWebhook(webhookId, { disabled_at: new Date() });
      await holdOrCancelWaiting(world.database, webhookId);
    },
    async 'is recovered'({ id, webhook_id: webhookId, event_seq: seq }) {
      const em = world.database.em.fork();
      const [event] = await em.execute(
        `insert into events (workspace_id, id, event, "timestamp", content_hash, body, received_at)
         values (?, ?, 'issue.created', now(), '', '{}', now()) returning seq`,
        [world.installation.workspace_id, `evt_${id}`],
      );
      await em.execute(`update deliveries set status = 'held', event_seq = ? where id = ?`, [
        event?.seq ?? seq,
        id,
      ]);
      const { workspaceId, actor, now } = which(webhookId);
      const recovery = { workspaceId, webhookId, actor, now, since: new Date(0), skipped: [] };
      await recoverDeliveries(world.database, { ...recovery, statuses: ['held'] }, () => {});
    },
    async 'has a scheduled retry that starts'(row) {
      const at = new Date(Date.now() + 3_600_000);
      const token = randomUUIDv7();
      await scheduleRetry(world.database, { deliveryId: row.id, token, at, attempts: 0 });
      assert.ok(await startScheduledRetry(world.database, token));
    },
    async 'has a scheduled retry that is cancelled'(row) {
      const at = new Date(Date.now() + 3_600_000);
      await scheduleRetry(world.database, { deliveryId: row.id, token: randomUUIDv7(), at, attempts: 0 });
      const { workspaceId, actor, now } = which(row.webhook_id);
      const entry = { workspaceId, actor, at: now, action: 'delivery.retry_cancelled' } as const;
      await cancelScheduledRetry(world.database, row, { ...entry, subject: `delivery:${row.id}` });
    },
    'has a manual retry that cannot be made': (row) =>
      recordUnmadeRetry(world.database, row, { why: 'a reason', at: new Date() }),
  };

  /** Does `work` with a watched webhook. Returns once its viewers were notified of the id that `work` returns. */
  async function notifies(work: (webhookId: string, heard: string[]) => Promise<string>): Promise<void> {
    const webhookId = await world.webhook({ url: 'http://localhost/' });
    await markWatched(world.database, [webhookId]);
    const heard: string[] = [];
    const end = notifications.subscribe('deliveries', webhookId, (_id, rest) => void heard.push(rest ?? '?'));
    try {
      const id = await work(webhookId, heard);
      // The change of the webhook is notified later than the tested one.
      const change = { name: 'A new name' };
      await changeWebhook(world.database, which(webhookId), () => change);
      await eventually('the webhook has changed', () => heard.includes('*'));
      assert.ok(
        heard.some((ids) => ids.split(',').includes(id)),
        `heard only ${heard.join()}`,
      );
    } finally {
      end();
    }
  }

  it('that is stored', async () => {
    await notifies(async (webhookId) => {
      const row = planned(webhookId);
      await storeDeliveries(world.database, [row], new Date());
      return row.id;
    });
  });

  it('that is stored with more than a message can list, as a change of many', async () => {
    const webhookId = await world.webhook({ url: 'http://localhost/' });
    await markWatched(world.database, [webhookId]);
    const heard: string[] = [];
    const end = notifications.subscribe('deliveries', webhookId, (_id, rest) => void heard.push(rest ?? '?'));
    // Their ids have more bytes than the server accepts.
    const rows = Array.from({ length: 300 }, () => planned(webhookId));
    await storeDeliveries(world.database, rows, new Date());
    await eventually('the message', () => heard.length > 0);
    end();
    assert.deepEqual(heard, ['*']);
    const newest = await listNewestDeliveries(world.database, webhookId, { limit: 2, since: null });
    assert.deepEqual(
      newest,
      rows
        .map(({ id }) => id)
        .toSorted()
        .slice(-2)
        .toReversed(),
    );
  });

  it('that is stored with its first result', async () => {
    await notifies(async (webhookId) => {
      const row = planned(webhookId);
      const { event_seq, event_id, event } = row;
      const new_delivery = { event_seq, event_id, event, created_at: new Date().toISOString() };
      await recordResults(world.database, [successOf(row, { new_delivery })]);
      return row.id;
    });
  });

  it('of a test that starts, and that is cancelled', async () => {
    await notifies(async (webhookId, heard) => {
      const { id, workspace_id: workspaceId, event_id: eventId, event } = planned(webhookId);
      const now = new Date();
      await insertTestDelivery(world.database, {
        id,
        workspaceId,
        webhookId,
        eventSeq: 0,
        eventId,
        event,
        now,
      });
      await eventually('the test is heard', () => heard.splice(0).includes(id));
      await cancelTestDelivery(world.database, id, now);
      return id;
    });
  });

  for (const [what, change] of Object.entries(STATEMENTS)) {
    it(`that ${what}`, async () => {
      await notifies(async (webhookId, heard) => {
        const { id } = planned(webhookId);
        await storeDeliveries(world.database, [{ ...planned(webhookId), id }], new Date());
        await eventually('the delivery is heard', () => heard.splice(0).includes(id));
        const [row] = await world.deliveries(webhookId);
        assert.ok(row);
        await change({ ...row, scheduled_at: null });
        return id;
      });
    });
  }
});
