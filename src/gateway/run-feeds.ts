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

/** What has just been written goes first: few events of many runs. */
const LIVE = { runs: 500, events: 50 };
/** Those who are behind catch up beside it, and hold nobody back. */
const BEHIND = { runs: 10, events: 200 };
/** Places of one run that catch up at once. */
const MAX_PLACES_BEHIND = 10;
/** How often all feeds that are followed are held against the table, in case a notice got lost. */
const SWEEP_MS = 5_000;

type Dependencies = {
  database: Database;
  notifications: Notifications;
  metrics: MetricsRecorder;
  log: Logger;
  /** After how many milliseconds a viewer is dropped that takes nothing. */
  stallMs?: number;
};

export type RunFeeds = {
  /** Sends a connection all events of a run behind `after`, as they come; the answer ends it. */
  follow(executionId: string, after: number, connection: Connection): () => void;
  /** How many runs are followed. */
  count(): number;
  close(): void;
};

/** `isCurrent` is true when the last look showed nothing that had not been sent, so that what comes now is new. */
type Followed = { room: RunRoom; isCurrent: boolean; unsubscribe: () => void };

/**
 * Follows the feeds of all runs that somebody in this process looks at. PostgreSQL's notices say only which run to
 * look at; the table says what happened.
 */
export function createRunFeeds(deps: Dependencies): RunFeeds {
  const { database, notifications, metrics, log, stallMs = CHANNEL_STALL_MS } = deps;
  const followed = new Map<string, Followed>();
  const placesOf = (executionId: string, from: number, to: number): FeedPosition[] =>
    (followed.get(executionId)?.room.places ?? []).slice(from, to).map((after) => ({ executionId, after }));
  const common = {
    read: (places: readonly FeedPosition[], limit: number) =>
      listEventsAfterPositions(database, places, limit),
    onRead,
    onError: (error: unknown) => log.warn({ err: error }, 'reading feeds failed'),
  };
  const live = createFeedReader({ ...common, size: LIVE, placesOf: (id) => placesOf(id, 0, 1) });
  const behind = createFeedReader({
    ...common,
    size: BEHIND,
    placesOf: (id) => placesOf(id, 1, 1 + MAX_PLACES_BEHIND),
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
    if (room.places.length > 1) behind.request(executionId);
  }

  /** A feed counts without holes. One would mean that something is very wrong; then nothing false is sent. */
  function eventsWithoutHole(executionId: string, after: number, found: readonly AgedEvent[]) {
    const events = found.map(({ event }) => event);
    const hole = events.findIndex(({ seq }, index) => seq !== after + 1 + index);
    if (hole === -1) return events;
    log.error({ execution_id: executionId, seq: after + 1 + hole }, 'the feed of a run has a missing event');
    return events.slice(0, hole);
  }

  /** Has everybody in a run's room get what they lack. */
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

  /** A viewer that does not take what it is sent gets no more until it has, and is dropped when that takes too long. */
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
    const places = [...followed.keys()].flatMap((id) => placesOf(id, 0, 1));
    if (places.length === 0) return;
    try {
      for (const id of await findFeedsAhead(database, places)) requestAll(id);
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
