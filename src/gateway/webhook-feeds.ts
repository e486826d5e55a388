import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
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
  /** After how many milliseconds a viewer is dropped that takes nothing. */
  stallMs?: number;
};

/** Sends viewers what they are owed. */
export type WebhookFeeds = {
  /** Says that something is owed to somebody. */
  wake(): void;
  close(): void;
};

/** Deliveries that are read at once, of all webhooks together. */
const BATCH = 500;
/** A reading that failed is tried again after so many milliseconds. */
const RETRY_MS = 250;

/**
 * Reads what has changed, one reading after another, and sends it to everybody who is owed it: what changes meanwhile
 * is read with the next. `viewers` are all of this process.
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

  /** What is sent says how the webhook is; its newest deliveries are owed then. */
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
    for (const row of await readDeliveries(database, [...batch.keys()])) {
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

/** By the id of what is owed, to whom. */
type Batch = Map<string, WebhookViewer[]>;

/** Takes as much as is read at once of what is owed: from each webhook a share, for all of its viewers. */
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
