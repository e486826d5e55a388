import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { MANY_CHANGED } from '../../src/database/webhooks/watched-webhooks.ts';
import { findWebhook } from '../../src/database/webhooks/webhooks.ts';
import { CHANNEL_PENDING_BYTES } from '../../src/domain/common/limits.ts';
import { presentWebhook } from '../../src/domain/webhooks/webhook-view.ts';
import type { Connection } from '../../src/gateway/connection.ts';
import { createMetricsRecorder } from '../../src/gateway/metrics.ts';
import { createWebhookFeeds } from '../../src/gateway/webhook-feeds.ts';
import { WebhookViewer } from '../../src/gateway/webhook-viewers.ts';
import { eventually } from '../support/eventually.ts';
import { useInstallation } from '../support/installation.ts';
import { inTransaction } from '../support/locked.ts';

type Sent = { type: string; webhook_id: string; delivery?: { id: string }; webhook?: unknown };

/** The viewers lack more deliveries than one batch has. */
const WEBHOOKS = 3;
const DELIVERIES = 180;

describe('the changes of watched webhooks', () => {
  const fresh = useInstallation();

  /** Stores a webhook with deliveries. Returns their ids. */
  async function prepare(): Promise<{ webhookId: string; ids: string[] }> {
    const { workspace_id: workspaceId } = fresh.installation;
    const webhookId = randomUUID();
    const rows = await fresh.database.em.fork().execute<{ id: string }[]>(
      `with webhook as (
         insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at)
         values (?, ?, 'Test', 'https://example.com/', '[]', 'system', now(), now()) returning id
       ), event as (
         insert into events (workspace_id, id, event, "timestamp", content_hash, body, received_at)
         values (?, ?, 'issue.created', now(), '', '{}', now()) returning seq
       )
       insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, created_at, updated_at)
       select gen_random_uuid(), ?, webhook.id, event.seq, 'e', 'issue.created', 'pending', now(), now()
       from webhook, event, generate_series(1, ${DELIVERIES}) returning id`,
      [webhookId, workspaceId, workspaceId, `evt_${webhookId}`, workspaceId],
    );
    return { webhookId, ids: rows.map(({ id }) => id) };
  }

  /** Follows the deliveries of webhooks. `send` is called with each message to a viewer. */
  function setUp(send: (message: Sent) => void, pendingBytes = () => 0) {
    const viewers = new Set<WebhookViewer>();
    const clock = () => new Date();
    const metrics = createMetricsRecorder(clock);
    const log = pino({ level: 'silent' });
    const feeds = createWebhookFeeds({ database: fresh.database, metrics, clock, log }, viewers);
    let drain = (): void => {};
    const connection: Connection = {
      id: '',
      send: (message) => send(JSON.parse(message.plainBytes.toString()).event),
      pendingBytes,
      onceDrained: (listener) => void (drain = listener),
      close: () => {},
    };
    const follow = (webhookId: string, ids: readonly string[]): void => {
      const viewer = new WebhookViewer(fresh.installation.workspace_id, webhookId);
      viewer.follow(connection);
      viewer.owe(ids);
      viewers.add(viewer);
    };
    const nobodyWaits = () =>
      eventually('nobody waits', () => [...viewers].every(({ owed }) => owed.size === 0));
    const sent = () => metrics.read({ workflow: 0, webhook: 0 }).events_sent;
    return { feeds, follow, nobodyWaits, sent, drain: () => drain() };
  }

  it('all arrive, once each, if they need several reads', async () => {
    const expected: string[] = [];
    const received: string[] = [];
    const { feeds, follow, nobodyWaits } = setUp(({ delivery }) => void received.push(delivery?.id ?? ''));
    for (let count = 0; count < WEBHOOKS; count += 1) {
      const { webhookId, ids } = await prepare();
      follow(webhookId, ids);
      expected.push(...ids);
    }
    feeds.wake();
    await nobodyWaits();
    await eventually('all have arrived', () => received.length >= expected.length);
    assert.deepEqual(received.toSorted(), expected.toSorted());
    feeds.close();
  });

  it('arrive after a failed read', async () => {
    const received: string[] = [];
    const { feeds, follow } = setUp(({ delivery }) => void received.push(delivery?.id ?? ''));
    const { webhookId, ids } = await prepare();
    const execute = (statement: string) => fresh.database.em.fork().execute(statement);
    await execute('alter table deliveries rename to deliveries_away');
    follow(webhookId, ids);
    feeds.wake();
    await new Promise((resolve) => setImmediate(resolve));
    await execute('alter table deliveries_away rename to deliveries');
    await eventually('all have arrived', () => received.length >= ids.length);
    assert.deepEqual(received.toSorted(), ids.toSorted());
    feeds.close();
  });

  it('are read one batch at a time, so that an older state cannot overtake a newer one', async () => {
    const { webhookId, ids } = await prepare();
    const received: string[] = [];
    const { feeds, follow, nobodyWaits } = setUp(({ delivery }) => void received.push(delivery?.id ?? ''));
    const reads = async () =>
      (
        await fresh.database.em.fork().execute(
          `select from pg_locks where relation = 'deliveries'::regclass and not granted and mode = 'AccessShareLock'
             and database = (select oid from pg_database where datname = current_database())`,
        )
      ).length;
    await inTransaction(fresh.database, [['lock table deliveries in access exclusive mode']], async () => {
      follow(webhookId, ids.slice(0, 1));
      feeds.wake();
      await eventually('the first batch is being read', async () => (await reads()) === 1);
      follow(webhookId, ids.slice(1, 2));
      feeds.wake();
      for (let count = 0; count < 20; count += 1) assert.equal(await reads(), 1);
    });
    await nobodyWaits();
    await eventually('both have arrived', () => received.length === 2);
    assert.deepEqual(received, ids.slice(0, 2));
  });

  it('wait for a viewer that does not receive, and then arrive', async () => {
    const received: string[] = [];
    let isFull = false;
    const { feeds, follow, drain } = setUp(
      ({ delivery }) => {
        received.push(delivery?.id ?? '');
        isFull = true;
      },
      () => (isFull ? CHANNEL_PENDING_BYTES + 1 : 0),
    );
    const { webhookId, ids } = await prepare();
    const some = ids.slice(0, 3);
    follow(webhookId, some);
    feeds.wake();
    for (let count = 1; count <= some.length; count += 1) {
      await eventually('one more has arrived', () => received.length >= count);
      assert.equal(received.length, count);
      isFull = false;
      drain();
    }
    assert.deepEqual(received.toSorted(), some.toSorted());
    feeds.close();
  });

  it('are the webhook and its newest deliveries for each viewer, if too many changed to list them', async () => {
    const received: Sent[] = [];
    const { feeds, follow, nobodyWaits, sent } = setUp((event) => void received.push(event));
    const { webhookId, ids } = await prepare();
    const { webhookId: deletedId } = await prepare();
    await fresh.database.em
      .fork()
      .execute('update webhooks set deleted_at = now() where id = ?', [deletedId]);
    for (const id of [webhookId, webhookId, deletedId]) follow(id, [MANY_CHANGED]);
    feeds.wake();
    await nobodyWaits();
    await eventually('all have arrived', () => received.length >= 303);
    const ofDeliveries = received.filter(({ type }) => type === 'delivery.changed');
    const newest = ids.toSorted().slice(-100);
    const arrived = ofDeliveries.filter(({ webhook_id: id }) => id === webhookId);
    assert.deepEqual(
      arrived.map(({ delivery }) => delivery?.id).toSorted(),
      [...newest, ...newest].toSorted(),
    );
    const ofWebhooks = received.filter(({ type }) => type === 'webhook.changed');
    const row = await findWebhook(fresh.database, {
      workspaceId: fresh.installation.workspace_id,
      id: webhookId,
    });
    assert.ok(row);
    const changed = {
      type: 'webhook.changed',
      webhook_id: webhookId,
      webhook: presentWebhook(row, new Date()),
    };
    const deleted = { type: 'webhook.changed', webhook_id: deletedId, webhook: null };
    assert.deepEqual(ofWebhooks, [changed, changed, deleted]);
    assert.equal(sent(), received.length);
    feeds.close();
  });
});
