import { useQueryClient, type InfiniteData, type QueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { CHANNEL_PATH, webhookRoomOf } from '../../../../src/domain/channel/channel.ts';
import { unwrap, api } from '../../../api/client.ts';
import type { Paged } from '../../../api/pages.ts';
import { projectsQuery } from '../../../api/projects.ts';
import { deliveryQuery, statsQuery, webhookQuery, type Delivery } from './queries.ts';

type Message = { type: string; event?: { type: string; webhook_id: string; delivery: Delivery } };
type Log = InfiniteData<Paged<Delivery>>;

const FIRST_WAIT_MS = 1_000;
const LAST_WAIT_MS = 15_000;
/** What comes within this time is shown together. */
const BATCH_MS = 250;
/** The webhook and its figures are asked for anew at most so often. */
const SUMMARY_REFRESH_MS = 1_500;
/** A filtered log of more pages is not asked for anew: whoever is so far down looks at what was. */
const MAX_REFRESHED_PAGES = 2;

/**
 * Keeps the log of a webhook up to date by the live channel: known rows change in place, new ones come in at their
 * place. True while the channel is there; while it is not, callers ask every few seconds.
 */
export function useWebhookRoom(webhookId: string): boolean {
  const client = useQueryClient();
  const [isLive, setIsLive] = useState(false);
  useEffect(() => {
    const changes = collectChanges(client, webhookId);
    const stop = follow(client, webhookId, {
      onLive(live) {
        setIsLive(live);
        // What happened while nobody listened is nowhere but in the log.
        if (live) changes.all();
      },
      onDelivery: changes.add,
    });
    return () => {
      stop();
      changes.stop();
    };
  }, [client, webhookId]);
  return isLive;
}

type Listener = { onLive: (live: boolean) => void; onDelivery: (delivery: Delivery) => void };

/** Stays in a webhook's room, over as many connections as it takes. Answers how to leave. */
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

/** One connection, until it ends; true where the room was joined. A new one gets a new token. */
async function connectOnce(
  client: QueryClient,
  webhookId: string,
  { onLive, onDelivery }: Listener,
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
    else if (type === 'event' && event?.type === 'delivery.changed') onDelivery(event.delivery);
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

/** Takes in what changed, many at once, and has the rest asked for anew. */
function collectChanges(client: QueryClient, webhookId: string) {
  const log = ['webhook', webhookId, 'deliveries'];
  let batch = new Map<string, Delivery>();
  let batchTimer: ReturnType<typeof setTimeout> | undefined;
  let summaryTimer: ReturnType<typeof setTimeout> | undefined;

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
      // Only the service knows which of the new ones a filter lets through.
      if (!isWhole && unknown.length > 0 && data.pages.length <= MAX_REFRESHED_PAGES)
        void client.invalidateQueries({ queryKey, exact: true });
    }
    for (const id of changes.keys()) void client.invalidateQueries({ queryKey: deliveryQuery(id).queryKey });
    summaryTimer ??= setTimeout(refreshSummary, SUMMARY_REFRESH_MS);
  }

  function refreshSummary(): void {
    summaryTimer = undefined;
    void client.invalidateQueries({ queryKey: webhookQuery(webhookId).queryKey, exact: true });
    void client.invalidateQueries({ queryKey: statsQuery(webhookId).queryKey, exact: true });
  }

  return {
    add(delivery: Delivery) {
      batch.set(delivery.id, delivery);
      batchTimer ??= setTimeout(show, BATCH_MS);
    },
    all() {
      void client.invalidateQueries({ queryKey: log });
      refreshSummary();
    },
    stop() {
      clearTimeout(batchTimer);
      clearTimeout(summaryTimer);
    },
  };
}

/** The log with what changed of its rows, and the deliveries that it does not have. */
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

/** The log with new rows among those of its first page, in the order of ids, which is that of their events. */
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
