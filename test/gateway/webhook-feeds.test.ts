import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import type { Connection } from '../../src/gateway/connection.ts';
import { createMetricsRecorder } from '../../src/gateway/metrics.ts';
import { createWebhookFeeds } from '../../src/gateway/webhook-feeds.ts';
import { WebhookViewer } from '../../src/gateway/webhook-viewers.ts';
import { eventually } from '../support/eventually.ts';
import { useInstallation } from '../support/installation.ts';

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

  it('all arrive, once each, if they need several reads', async () => {
    const viewers = new Set<WebhookViewer>();
    const expected: string[] = [];
    const received: string[] = [];
    const connection: Connection = {
      id: '',
      send: (message) => void received.push(JSON.parse(message.plainBytes.toString()).event.delivery.id),
      pendingBytes: () => 0,
      onceDrained: () => {},
      close: () => {},
    };
    for (let count = 0; count < WEBHOOKS; count += 1) {
      const { webhookId, ids } = await prepare();
      const viewer = new WebhookViewer(fresh.installation.workspace_id, webhookId);
      viewer.follow(connection);
      viewer.owe(ids);
      viewers.add(viewer);
      expected.push(...ids);
    }
    const clock = () => new Date();
    const feeds = createWebhookFeeds(
      {
        database: fresh.database,
        metrics: createMetricsRecorder(clock),
        clock,
        log: pino({ level: 'silent' }),
      },
      viewers,
    );
    feeds.wake();
    await eventually('nobody waits', () => [...viewers].every(({ owed }) => owed.size === 0));
    await eventually('all have arrived', () => received.length >= expected.length);
    assert.deepEqual(received.toSorted(), expected.toSorted());
    feeds.close();
  });
});
