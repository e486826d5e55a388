import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import { addScheduled } from '../database/webhooks/scheduled-retries.ts';
import { readDeliveries, MANY_CHANGED, listNewestDeliveries } from '../database/webhooks/watched-webhooks.ts';
import { findWebhook } from '../database/webhooks/webhooks.ts';
import { presentListed } from '../domain/webhooks/delivery-view.ts';
import { CHANNEL_STALL_MS, ROOM_DELIVERIES_AGAIN } from '../domain/common/limits.ts';
import { presentWebhook } from '../domain/webhooks/webhook-view.ts';
import { Message } from './message.ts';
import type { MetricsRecorder } from './metrics.ts';
import type { WebhookViewer } from './webhook-viewers.ts';

type Dependencies = {
  database: Database;
  metrics: MetricsRecorder;
  clock: () => Date;
  log: Logger;
  /** After this time in milliseconds, a viewer that receives nothing is disconnected. */
  stallMs?: number;
};

/** Sends pending changes to viewers. */
export type WebhookFeeds = {
  /** Starts sending after a change was queued for a viewer. */
  wake(): void;
  close(): void;
};

/** Maximum number of deliveries read at once, of all webhooks together. */
const BATCH = 500;
/** A failed read is repeated after this time, in milliseconds. */
const RETRY_MS = 250;

/**
 * Reads changed deliveries in batches, one batch at a time, and sends them to each viewer that lacks them. Changes
 * during a read go into the next batch. `viewers` are all viewers of this process.
 */
export function createWebhookFeeds(deps: Dependencies, viewers: ReadonlySet<WebhookViewer>): WebhookFeeds {
  const { database, metrics, clock, log, stallMs = CHANNEL_STALL_MS } = deps;
  let isReading = false;
  let isClosed = false;

  async function run(): Promise<void> {
    isReading = true;
    for (let batch = takeBatch(viewers); batch.size > 0 && !isClosed; batch = takeBatch(viewers)) {
      try {
        await sendChangedWebhooks(batch);
        await sendDeliveries(batch);
      } catch (error) {
        for (const [id, viewersOwed] of batch) for (const viewer of viewersOwed) viewer.owe([id]);
        if (isClosed) break;
        log.warn({ err: error }, 'reading deliveries for rooms failed');
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
      }
    }
    isReading = false;
  }

  function wake(): void {
    if (!isReading && !isClosed) void run();
  }

  /** Sends the current webhook after many changes, and queues its newest deliveries. */
  async function sendChangedWebhooks(batch: Batch): Promise<void> {
    for (const [webhookId, owedTo] of Map.groupBy(
      batch.get(MANY_CHANGED) ?? [],
      (viewer) => viewer.webhookId,
    )) {
      const workspaceId = owedTo[0]?.workspaceId ?? '';
      const [row, newest] = await Promise.all([
        findWebhook(database, { workspaceId, id: webhookId }),
        listNewestDeliveries(database, webhookId, { limit: ROOM_DELIVERIES_AGAIN, since: null }),
      ]);
      const webhook = row && presentWebhook(row, clock());
      const message = Message.of('event', { type: 'webhook.changed', webhook_id: webhookId, webhook });
      for (const viewer of owedTo) {
        viewer.owe(newest);
        viewer.send(message, stallMs, wake);
      }
      metrics.sent(owedTo.length);
    }
    batch.delete(MANY_CHANGED);
  }

  async function sendDeliveries(batch: Batch): Promise<void> {
    if (batch.size === 0) return;
    for (const row of await addScheduled(database, await readDeliveries(database, [...batch.keys()]))) {
      const delivery = presentListed(row, row.words);
      const event = { type: 'delivery.changed' as const, webhook_id: row.webhook_id, delivery };
      const message = Message.of('event', event);
      const owedTo = batch.get(row.id) ?? [];
      batch.delete(row.id);
      for (const viewer of owedTo) {
        if (viewer.isStalled) viewer.owe([row.id]);
        else viewer.send(message, stallMs, wake);
      }
      metrics.sent(owedTo.length);
    }
  }

  return {
    wake,
    close() {
      isClosed = true;
    },
  };
}

/** Viewers by the id of the delivery that they lack. */
type Batch = Map<string, WebhookViewer[]>;

/** Takes the next batch: an equal share for each webhook, for all of its viewers. */
function takeBatch(viewers: ReadonlySet<WebhookViewer>): Batch {
  const batch: Batch = new Map();
  const waiting = [...viewers].filter((viewer) => viewer.isWaiting);
  const byWebhook = Map.groupBy(waiting, (viewer) => viewer.webhookId);
  const share = Math.max(1, Math.floor(BATCH / Math.max(1, byWebhook.size)));
  for (const together of byWebhook.values()) {
    let left = share;
    for (const viewer of together) {
      for (const id of viewer.owed) {
        const owedTo = batch.get(id);
        if (!owedTo && left === 0) break;
        viewer.owed.delete(id);
        if (owedTo) owedTo.push(viewer);
        else {
          batch.set(id, [viewer]);
          left -= 1;
        }
      }
    }
  }
  return batch;
}
