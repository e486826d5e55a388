import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import {
  listEventsAfterPositions,
  findFeedsAhead,
  type AgedEvent,
  type FeedPosition,
} from '../database/tasks/feed.ts';
import type { Notifications } from '../database/common/notifications.ts';
import { CHANNEL_STALL_MS } from '../domain/common/limits.ts';
import type { Connection } from './connection.ts';
import { createFeedReader } from './feed-reader.ts';
import type { MetricsRecorder } from './metrics.ts';
import { RunRoom, type Viewer } from './run-room.ts';

/** New events have priority: few events of many runs. */
const LIVE = { runs: 500, events: 50 };
/** Slow viewers catch up separately and delay nobody. */
const BEHIND = { runs: 10, events: 200 };
/** Maximum number of cursors of one run that catch up at once. */
const MAX_CURSORS_BEHIND = 10;
/** How often all followed feeds are compared with the table, in case a notification was lost; in milliseconds. */
const SWEEP_MS = 5_000;

type Dependencies = {
  database: Database;
  notifications: Notifications;
  metrics: MetricsRecorder;
  log: Logger;
  /** After this time in milliseconds, a viewer that receives nothing is disconnected. */
  stallMs?: number;
};

export type RunFeeds = {
  /** Sends a connection all events of a run after `after`, as they occur. Returns a function that stops it. */
  follow(executionId: string, after: number, connection: Connection): () => void;
  /** Returns the number of followed runs. */
  count(): number;
  close(): void;
};

/** `isCurrent` is true if the last read found no unsent events, so that further events are new. */
type Followed = { room: RunRoom; isCurrent: boolean; unsubscribe: () => void };

/**
 * Follows the feeds of all runs with viewers in this process. Notifications of PostgreSQL only name the run; the
 * events are read from the table.
 */
export function createRunFeeds(deps: Dependencies): RunFeeds {
  const { database, notifications, metrics, log, stallMs = CHANNEL_STALL_MS } = deps;
  const followed = new Map<string, Followed>();
  const positionsOf = (executionId: string, from: number, to: number): FeedPosition[] =>
    (followed.get(executionId)?.room.cursors ?? []).slice(from, to).map((after) => ({ executionId, after }));
  const common = {
    read: (positions: readonly FeedPosition[], limit: number) =>
      listEventsAfterPositions(database, positions, limit),
    onRead,
    onError: (error: unknown) => log.warn({ err: error }, 'reading feeds failed'),
  };
  const live = createFeedReader({ ...common, size: LIVE, positionsOf: (id) => positionsOf(id, 0, 1) });
  const behind = createFeedReader({
    ...common,
    size: BEHIND,
    positionsOf: (id) => positionsOf(id, 1, 1 + MAX_CURSORS_BEHIND),
  });
  const sweep = setInterval(() => void sweepAll(), SWEEP_MS).unref();

  function onRead({ executionId, after }: FeedPosition, found: readonly AgedEvent[], isWhole: boolean): void {
    const run = followed.get(executionId);
    if (!run) return;
    const { room, isCurrent } = run;
    run.isCurrent = isWhole;
    if (found.length === 0) return;
    const begun = performance.now();
    metrics.sent(room.deliver(after, eventsWithoutHole(executionId, after, found)));
    if (isCurrent) metrics.lagged((found.at(-1)?.ageMs ?? 0) + performance.now() - begun);
    if (!isWhole) live.request(executionId);
    if (room.cursors.length > 1) behind.request(executionId);
  }

  /**
   * The numbers of a feed have no gaps. If there is one, something is seriously wrong, and nothing after it is sent.
   */
  function eventsWithoutHole(executionId: string, after: number, found: readonly AgedEvent[]) {
    const events = found.map(({ event }) => event);
    const hole = events.findIndex(({ seq }, index) => seq !== after + 1 + index);
    if (hole === -1) return events;
    log.error({ execution_id: executionId, seq: after + 1 + hole }, 'the feed of a run has a missing event');
    return events.slice(0, hole);
  }

  /** Requests reads for all viewers of a run. */
  function requestAll(executionId: string): void {
    live.request(executionId);
    behind.request(executionId);
  }

  function roomOf(executionId: string): RunRoom {
    const known = followed.get(executionId);
    if (known) return known.room;
    const room = new RunRoom((viewer) => stall(executionId, viewer));
    const unsubscribe = notifications.subscribe('feed', executionId, () => live.request(executionId));
    followed.set(executionId, { room, isCurrent: false, unsubscribe });
    return room;
  }

  /** Stops sending to a viewer that does not receive. It is disconnected if that takes too long. */
  function stall(executionId: string, viewer: Viewer): void {
    const timer = setTimeout(() => viewer.connection.close('slow_reader'), stallMs).unref();
    viewer.connection.onceDrained(() => {
      clearTimeout(timer);
      if (!viewer.isStalled) return;
      followed.get(executionId)?.room.resume(viewer);
      requestAll(executionId);
    });
    requestAll(executionId);
  }

  async function sweepAll(): Promise<void> {
    const positions = [...followed.keys()].flatMap((id) => positionsOf(id, 0, 1));
    if (positions.length === 0) return;
    try {
      for (const id of await findFeedsAhead(database, positions)) requestAll(id);
    } catch (error) {
      log.warn({ err: error }, 'checking feeds failed');
    }
  }

  function leave(executionId: string, viewer: Viewer): void {
    const known = followed.get(executionId);
    if (!known) return;
    viewer.isStalled = false;
    known.room.remove(viewer);
    if (!known.room.isEmpty) return requestAll(executionId);
    known.unsubscribe();
    followed.delete(executionId);
  }

  return {
    follow(executionId, after, connection) {
      const viewer: Viewer = { connection, cursor: after, isStalled: false };
      roomOf(executionId).add(viewer);
      requestAll(executionId);
      let isGone = false;
      return () => {
        if (!isGone) leave(executionId, viewer);
        isGone = true;
      };
    },
    count: () => followed.size,
    close() {
      clearInterval(sweep);
      live.close();
      behind.close();
      for (const { unsubscribe } of followed.values()) unsubscribe();
      followed.clear();
    },
  };
}
