import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';

/** `live`: events come by themselves; `polling`: they are asked for every few seconds until the channel is back. */
export type FollowStatus = 'connecting' | 'live' | 'polling';

/** What following needs of the world around it. */
export type FollowDependencies = {
  /** A token for the run's project, and when it expires, in milliseconds since 1970. */
  token(): Promise<{ token: string; expiresAt: number }>;
  open(token: string): WebSocket;
  /** Asks for the events behind `after`. */
  read(after: number): Promise<readonly FeedEvent[]>;
  onEvents(events: readonly FeedEvent[]): void;
  onStatus(status: FollowStatus): void;
};

const POLL_MS = 2_000;
/** So long a connection may take before events are asked for meanwhile. */
const PATIENCE_MS = 1_500;
const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 15_000;
/** A token is renewed so long before it expires. */
const RENEW_BEFORE_MS = 60_000;

/**
 * Follows a run's feed from behind `after`: each event once and in order, by the live channel (docs/channel.md), and
 * by asking while the channel is away. Answers how to stop.
 */
export function follow(room: string, after: number, deps: FollowDependencies): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  let last = after;

  /** Takes what is new; false where something between is missing, which only happens to what is asked for anew. */
  function take(events: readonly FeedEvent[]): boolean {
    const fresh = events.filter((event) => event.seq > last);
    if (fresh.length === 0) return true;
    if (fresh.some((event, index) => event.seq !== last + 1 + index)) return false;
    last = fresh.at(-1)?.seq ?? last;
    deps.onEvents(fresh);
    return true;
  }

  async function main(): Promise<void> {
    let waitMs = FIRST_WAIT_MS;
    // Goes on over any number of tries, until the channel is there.
    let asking = askMeanwhile(() => last, take, deps, signal);
    while (!signal.aborted) {
      const wasLive = await converse(room, { last: () => last, take, deps, signal, onLive: asking.stop });
      if (wasLive && !signal.aborted) {
        deps.onStatus('connecting');
        asking = askMeanwhile(() => last, take, deps, signal);
      }
      waitMs = wasLive ? FIRST_WAIT_MS : Math.min(waitMs * 2, LAST_WAIT_MS);
      await pause(waitMs, signal);
    }
  }

  void main();
  return () => stopping.abort();
}

type Talk = {
  last: () => number;
  take: (events: readonly FeedEvent[]) => boolean;
  deps: FollowDependencies;
  signal: AbortSignal;
  onLive: () => void;
};

/** One connection from its beginning to its end; true where the room was joined. */
async function converse(room: string, { last, take, deps, signal, onLive }: Talk): Promise<boolean> {
  let granted: Awaited<ReturnType<FollowDependencies['token']>>;
  try {
    granted = await deps.token();
  } catch {
    return false;
  }
  if (signal.aborted) return false;
  const socket = deps.open(granted.token);
  const ended = Promise.withResolvers<void>();
  let joined = false;
  socket.addEventListener('open', () => socket.send(JSON.stringify({ type: 'join', room, after: last() })));
  socket.addEventListener('message', ({ data }: MessageEvent<string>) => {
    const message = JSON.parse(data) as { type: string; event?: FeedEvent };
    if (message.type === 'joined') {
      joined = true;
      onLive();
      deps.onStatus('live');
    } else if (message.type === 'event' && message.event) {
      if (!take([message.event])) socket.close();
    } else if (message.type === 'refused' && !joined) socket.close();
  });
  socket.addEventListener('close', () => ended.resolve());
  const stop = () => socket.close();
  signal.addEventListener('abort', stop, { once: true });
  const renewing = keepGood(socket, granted.expiresAt, deps);
  await ended.promise;
  renewing.stop();
  signal.removeEventListener('abort', stop);
  return joined;
}

/** Gives the connection a newer token before the one it has expires. */
function keepGood(socket: WebSocket, expiresAt: number, deps: FollowDependencies) {
  let timer: ReturnType<typeof setTimeout>;
  const plan = (at: number) => {
    timer = setTimeout(() => void renew(), Math.max(at - Date.now() - RENEW_BEFORE_MS, 1_000));
  };
  const renew = async () => {
    try {
      const next = await deps.token();
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.send(JSON.stringify({ type: 'renew', token: next.token }));
      plan(next.expiresAt);
    } catch {
      // The connection will end when its token does, and be made anew.
    }
  };
  plan(expiresAt);
  return { stop: () => clearTimeout(timer) };
}

/** Asks for events again and again until told to stop; begins when the channel has not come within its time. */
function askMeanwhile(
  last: () => number,
  take: (events: readonly FeedEvent[]) => boolean,
  deps: FollowDependencies,
  signal: AbortSignal,
) {
  const stopping = new AbortController();
  const either = AbortSignal.any([signal, stopping.signal]);
  async function ask(): Promise<void> {
    await pause(PATIENCE_MS, either);
    while (!either.aborted) {
      deps.onStatus('polling');
      try {
        take(await deps.read(last()));
      } catch {
        // The service is away, or the network; the next round will tell.
      }
      await pause(POLL_MS, either);
    }
  }
  void ask();
  return { stop: () => stopping.abort() };
}

/** Waits; less where it is told to stop, or the network comes back. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      globalThis.removeEventListener?.('online', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
    globalThis.addEventListener?.('online', done, { once: true });
    if (signal.aborted) done();
  });
}
