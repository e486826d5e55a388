import { useQueryClient, type InfiniteData, type QueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { CHANNEL_PATH, webhookRoomOf } from '../../../../src/domain/channel/channel.ts';
import { unwrap, api } from '../../../api/client.ts';
import type { Paged } from '../../../api/pages.ts';
import { projectsQuery } from '../../../api/projects.ts';
import { deliveryQuery, statsQuery, webhookQuery, type Delivery } from './queries.ts';

type RoomEvent = { type: 'delivery.changed'; delivery: Delivery } | { type: 'webhook.changed' };
type Message = { type: string; event?: RoomEvent };
type Log = InfiniteData<Paged<Delivery>>;

const FIRST_WAIT_MS = 1_000;
const LAST_WAIT_MS = 15_000;
/** Changes within this time are shown together. */
const BATCH_MS = 250;
/** The webhook, its statistics, and after many changes at once its whole log, are refetched at most this often. */
const REFRESH_MS = 1_500;
/** Filtered logs with more loaded pages are not refetched, because their reader is reading older deliveries. */
const MAX_REFRESHED_PAGES = 2;

/**
 * Keeps the log of a webhook up to date over the live channel: known rows change in place, new ones are inserted in
 * order. Returns true while the channel is live. Otherwise callers must poll.
 */
export function useWebhookRoom(webhookId: string): boolean {
  const client = useQueryClient();
  const [isLive, setIsLive] = useState(false);
  useEffect(() => {
    const changes = collectChanges(client, webhookId);
    const stop = follow(client, webhookId, {
      onLive(live) {
        setIsLive(live);
        // Only the log contains changes from the time without a connection.
        if (live) changes.all();
      },
      onDelivery: changes.add,
      onManyChanged: changes.many,
    });
    return () => {
      stop();
      changes.stop();
    };
  }, [client, webhookId]);
  return isLive;
}

type Listener = {
  onLive: (live: boolean) => void;
  onDelivery: (delivery: Delivery) => void;
  /** The webhook changed, or more deliveries than the channel sends. */
  onManyChanged: () => void;
};

/** Stays in a webhook's room and reconnects as needed. Returns a function that leaves it. */
function follow(client: QueryClient, webhookId: string, listener: Listener): () => void {
  const leaving = new AbortController();
  const main = async () => {
    for (let waitMs = FIRST_WAIT_MS; !leaving.signal.aborted; ) {
      const wasLive = await connectOnce(client, webhookId, listener, leaving.signal).catch(() => false);
      if (wasLive) listener.onLive(false);
      waitMs = wasLive ? FIRST_WAIT_MS : Math.min(waitMs * 2, LAST_WAIT_MS);
      await pause(waitMs, leaving.signal);
    }
  };
  void main();
  return () => leaving.abort();
}

/** Runs one connection with a new token until it ends. Returns true if it joined the room. */
async function connectOnce(
  client: QueryClient,
  webhookId: string,
  { onLive, onDelivery, onManyChanged }: Listener,
  signal: AbortSignal,
): Promise<boolean> {
  const [project] = await client.ensureQueryData(projectsQuery);
  if (!project || signal.aborted) return false;
  const body = { project_id: project.id };
  const { token } = await unwrap(api.POST('/api/v1/tokens', { body, signal }));
  const socket = new WebSocket(channelAddress(token));
  const ended = Promise.withResolvers<void>();
  let joined = false;
  const leave = () => socket.close();
  signal.addEventListener('abort', leave);
  if (signal.aborted) leave();
  socket.addEventListener('open', () =>
    socket.send(JSON.stringify({ type: 'join', room: webhookRoomOf(webhookId) })),
  );
  socket.addEventListener('message', ({ data }: MessageEvent<string>) => {
    if (signal.aborted) return;
    const { type, event } = JSON.parse(data) as Message;
    if (type === 'joined') {
      joined = true;
      onLive(true);
    } else if (type === 'refused') socket.close();
    else if (event?.type === 'delivery.changed') onDelivery(event.delivery);
    else if (event?.type === 'webhook.changed') onManyChanged();
  });
  socket.addEventListener('close', () => ended.resolve());
  await ended.promise;
  signal.removeEventListener('abort', leave);
  return joined && !signal.aborted;
}

function channelAddress(token: string): URL {
  const address = new URL(CHANNEL_PATH, location.href);
  address.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  address.searchParams.set('token', token);
  return address;
}

/** Collects changes, applies them to the cache in batches, and invalidates what depends on them. */
function collectChanges(client: QueryClient, webhookId: string) {
  const log = ['webhook', webhookId, 'deliveries'];
  let batch = new Map<string, Delivery>();
  let batchTimer: ReturnType<typeof setTimeout> | undefined;
  let summaryTimer: ReturnType<typeof setTimeout> | undefined;
  let allTimer: ReturnType<typeof setTimeout> | undefined;

  function show(): void {
    batchTimer = undefined;
    const changes = batch;
    batch = new Map();
    for (const { queryKey, state } of client.getQueryCache().findAll({ queryKey: log })) {
      const data = state.data as Log | undefined;
      if (!data) continue;
      const { changed, unknown } = withChanges(data, changes);
      const isWhole = Object.values(queryKey.at(-1) as object).every((filter) => filter === undefined);
      client.setQueryData(queryKey, isWhole ? withNew(changed, unknown) : changed);
      // Only the server knows which new deliveries match the filters.
      if (!isWhole && unknown.length > 0 && data.pages.length <= MAX_REFRESHED_PAGES)
        void client.invalidateQueries({ queryKey, exact: true });
    }
    for (const id of changes.keys()) void client.invalidateQueries({ queryKey: deliveryQuery(id).queryKey });
    summaryTimer ??= setTimeout(refreshSummary, REFRESH_MS);
  }

  function refreshSummary(): void {
    summaryTimer = undefined;
    void client.invalidateQueries({ queryKey: webhookQuery(webhookId).queryKey, exact: true });
    void client.invalidateQueries({ queryKey: statsQuery(webhookId).queryKey, exact: true });
  }

  function refreshAll(): void {
    allTimer = undefined;
    void client.invalidateQueries({ queryKey: log });
    void client.invalidateQueries({ queryKey: ['delivery'] });
    refreshSummary();
  }

  return {
    add(delivery: Delivery) {
      batch.set(delivery.id, delivery);
      batchTimer ??= setTimeout(show, BATCH_MS);
    },
    all: refreshAll,
    many() {
      allTimer ??= setTimeout(refreshAll, REFRESH_MS);
    },
    stop() {
      clearTimeout(batchTimer);
      clearTimeout(summaryTimer);
      clearTimeout(allTimer);
    },
  };
}

/** Returns the log with its changed rows, and the deliveries that it does not contain. */
function withChanges(data: Log, changes: ReadonlyMap<string, Delivery>) {
  const unknown = new Map(changes);
  const pages = data.pages.map((page) => ({
    ...page,
    data: page.data.map((row) => {
      unknown.delete(row.id);
      return changes.get(row.id) ?? row;
    }),
  }));
  return { changed: { ...data, pages }, unknown: [...unknown.values()] };
}

/** Returns the log with new rows on its first page, ordered by id, which is the order of their events. */
function withNew(data: Log, rows: readonly Delivery[]): Log {
  const [first, ...others] = data.pages;
  if (!first) return data;
  const oldest = first.next_cursor === null ? '' : (first.data.at(-1)?.id ?? '');
  const fresh = rows.filter(({ id }) => id > oldest);
  const merged = [...first.data, ...fresh].toSorted((one, other) => (one.id < other.id ? 1 : -1));
  return { ...data, pages: [{ ...first, data: merged }, ...others] };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      removeEventListener('online', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    addEventListener('online', done);
    if (signal.aborted) done();
  });
}
