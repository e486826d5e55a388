import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import { listDeliveries, readSearchWords } from '../database/webhooks/deliveries.ts';
import type { Notifications } from '../database/common/notifications.ts';
import { ROOM_SCOPES } from '../domain/channel/channel.ts';
import type { TokenHolder } from '../database/people/token-holders.ts';
import {
  MANY_CHANGED,
  listNewestDeliveries,
  WATCHED_MS,
  markWatched,
} from '../database/webhooks/watched-webhooks.ts';
import { findWebhook, type WebhookRow } from '../database/webhooks/webhooks.ts';
import { presentListed } from '../domain/webhooks/delivery-view.ts';
import { ROOM_DELIVERIES, ROOM_DELIVERIES_AGAIN } from '../domain/common/limits.ts';
import { presentWebhook } from '../domain/webhooks/webhook-view.ts';
import type { MetricsRecorder } from './metrics.ts';
import type { RoomOpener } from './rooms.ts';
import { createWebhookFeeds } from './webhook-feeds.ts';
import { WebhookViewer } from './webhook-viewers.ts';

type Dependencies = {
  database: Database;
  notifications: Notifications;
  metrics: MetricsRecorder;
  clock: () => Date;
  log: Logger;
  /** After this time in milliseconds, a viewer that receives nothing is disconnected. */
  stallMs?: number;
};

/** How often watched webhooks are renewed, in milliseconds. */
const RENEW_MS = WATCHED_MS / 3;
/** A viewer that was admitted but does not follow within this time is removed, in milliseconds. */
const JOIN_TIMEOUT_MS = 30_000;
/**
 * A statement that started before a webhook was watched has ended by then, in milliseconds. Its changes may not have
 * been notified.
 */
const SETTLED_MS = 1_000;
const CHANGED_WITHIN_MS = 60_000;

type Room = { viewers: Set<WebhookViewer>; watched: Promise<unknown>; leave: () => void };

/**
 * Creates the rooms `webhook:<id>`: a webhook with its newest deliveries, then the latest state of each changed
 * delivery. Notifications of PostgreSQL only contain ids, and are only sent for watched webhooks.
 */
export function createWebhookRooms(deps: Dependencies): RoomOpener {
  const { database, notifications, clock, log } = deps;
  const rooms = new Map<string, Room>();
  const viewers = new Set<WebhookViewer>();
  const feeds = createWebhookFeeds(deps, viewers);
  let watchedSince = performance.now();
  const renewal = setInterval(() => void renew(), RENEW_MS).unref();

  async function renew(): Promise<void> {
    const before = watchedSince;
    const now = performance.now();
    try {
      if (rooms.size > 0) await markWatched(database, [...rooms.keys()]);
      watchedSince = now;
      // Nothing was notified while the webhooks were not watched.
      if (now - before > WATCHED_MS)
        for (const { viewers: some } of rooms.values()) owe(some, [MANY_CHANGED]);
    } catch (error) {
      log.warn({ err: error }, 'recording watched webhooks failed');
    }
  }

  function owe(some: Iterable<WebhookViewer>, ids: readonly string[]): void {
    for (const viewer of some) viewer.owe(ids);
    feeds.wake();
  }

  function roomOf(webhookId: string): Room {
    const known = rooms.get(webhookId);
    if (known) return known;
    const inside = new Set<WebhookViewer>();
    const unsubscribe = notifications.subscribe('deliveries', webhookId, (_, rest) =>
      owe(inside, rest === null ? [MANY_CHANGED] : rest.split(',')),
    );
    const settling = setTimeout(() => void readAgain(webhookId), SETTLED_MS).unref();
    const leave = () => {
      unsubscribe();
      clearTimeout(settling);
    };
    const room = { viewers: inside, watched: markWatched(database, [webhookId]), leave };
    rooms.set(webhookId, room);
    return room;
  }

  async function readAgain(webhookId: string): Promise<void> {
    try {
      const since = new Date(clock().getTime() - CHANGED_WITHIN_MS);
      const ids = await listNewestDeliveries(database, webhookId, { limit: ROOM_DELIVERIES_AGAIN, since });
      owe(rooms.get(webhookId)?.viewers ?? [], ids);
    } catch (error) {
      log.warn({ err: error, webhook_id: webhookId }, 'reading the newest deliveries failed');
      owe(rooms.get(webhookId)?.viewers ?? [], [MANY_CHANGED]);
    }
  }

  /** Adds a viewer before the snapshot is read, so that changes during the read are queued. */
  async function enter(workspaceId: string, webhookId: string) {
    const room = roomOf(webhookId);
    const viewer = new WebhookViewer(workspaceId, webhookId);
    room.viewers.add(viewer);
    viewers.add(viewer);
    const leave = () => {
      viewer.leave();
      viewers.delete(viewer);
      room.viewers.delete(viewer);
      if (room.viewers.size > 0 || rooms.get(webhookId) !== room) return;
      room.leave();
      rooms.delete(webhookId);
    };
    try {
      await room.watched;
      return { viewer, leave };
    } catch (error) {
      leave();
      throw error;
    }
  }

  async function snapshotOf(row: WebhookRow) {
    const newest = await listDeliveries(database, {
      workspaceId: row.workspace_id,
      webhookId: row.id,
      limit: ROOM_DELIVERIES,
    });
    const words = await readSearchWords(database, newest);
    const deliveries = newest.map((one) => presentListed(one, words.get(one.event_seq) ?? null));
    return { webhook: presentWebhook(row, clock()), deliveries };
  }

  return {
    async open(holder, id) {
      const { workspaceId } = holder;
      if (!canSee(holder) || !(await findWebhook(database, { workspaceId, id }))) return 'forbidden';
      const { viewer, leave } = await enter(workspaceId, id);
      try {
        const row = await findWebhook(database, { workspaceId, id });
        const snapshot = row && (await snapshotOf(row));
        if (!snapshot) {
          leave();
          return 'forbidden';
        }
        const joinTimeout = setTimeout(leave, JOIN_TIMEOUT_MS).unref();
        return {
          snapshot,
          last_seq: 0,
          follow(connection) {
            clearTimeout(joinTimeout);
            viewer.follow(connection);
            feeds.wake();
            return leave;
          },
        };
      } catch (error) {
        leave();
        throw error;
      }
    },
    count: () => rooms.size,
    close() {
      clearInterval(renewal);
      feeds.close();
      for (const room of rooms.values()) room.leave();
      rooms.clear();
      viewers.clear();
    },
  };
}

function canSee({ scopes }: TokenHolder): boolean {
  return scopes.includes(ROOM_SCOPES.webhook);
}
