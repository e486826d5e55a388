import { joinRoom, type ChannelDependencies } from './channel.ts';
import { pathOf, type Http } from './http.ts';
import { isTransient } from './retry.ts';
import { readSse } from './sse.ts';
import { pause } from './time.ts';
import { TransportFailed } from './transport-failed.ts';
import type { FeedEvent, Task } from './types.ts';
import { isSettled } from './wait-for.ts';

/** The followed task, and what a transport needs to read its events. */
export type FollowedTask = {
  http: Http;
  channel: ChannelDependencies;
  id: string;
  signal?: AbortSignal | undefined;
  /** Called by a transport when its connection is established. */
  onConnected(): void;
};

/** `channel`: the live channel. `stream`: server-sent events. `polling`: one request after another. */
export type TransportName = 'channel' | 'stream' | 'polling';

export type Transport = {
  name: TransportName;
  /**
   * Yields the events after the `seq` in `after`, in order. Returns when there are no more events for now.
   * @throws TransportFailed if only this transport fails
   */
  read(task: FollowedTask, after: number): AsyncGenerator<FeedEvent, void, undefined>;
  /** After this number of consecutive failures without an event, the next transport is used. */
  maxFailures: number;
};

/** A stream sends its first bytes immediately, and a comment after 15 s without an event. */
const FIRST_BYTES_MS = 5_000;
const STREAM_SILENCE_MS = 45_000;
/** Silence after which the state of the task is checked: right after the join, later, and after the end of the run. */
const JUST_JOINED_MS = 300;
const SILENT_ROOM_MS = 20_000;
const SETTLING_MS = 1_000;
/** The maximum delay of an event that the API already returns. */
const EVENT_DELAY_MS = 3_000;
const POLL_MS = 1_000;

/** All transports, in order of preference. */
export const TRANSPORTS: readonly [Transport, ...Transport[]] = [
  { name: 'channel', read: readChannel, maxFailures: 2 },
  { name: 'stream', read: readStream, maxFailures: 2 },
  { name: 'polling', read: readByPolling, maxFailures: Number.POSITIVE_INFINITY },
];

/**
 * Fetches how far the feed of a task is. `hasNewer` is true if events after `seq` exist. `isComplete` is true if no
 * event after `seq` exists and none will follow.
 */
export async function fetchProgress(
  { http, id, signal }: FollowedTask,
  seq: number,
): Promise<{ isComplete: boolean; hasNewer: boolean }> {
  const task = await http.json<Task>({ method: 'GET', path: pathOf('tasks', id), retries: 0, signal });
  const hasNewer = task.last_seq > seq;
  return { hasNewer, isComplete: isSettled(task) && !hasNewer };
}

async function* readChannel(task: FollowedTask, after: number): AsyncGenerator<FeedEvent, void, undefined> {
  const room = await joinRoom(task.http, task.channel, { id: task.id, after, signal: task.signal });
  task.onConnected();
  let seq = after;
  let hasEnded = false;
  let wasChecked = false;
  let isOverdue = false;
  try {
    for (;;) {
      const event = await room.next(isOverdue ? EVENT_DELAY_MS : silenceLimitMs(hasEnded, wasChecked));
      if (event !== null) {
        if (event.seq <= seq) continue;
        if (event.seq > seq + 1) throw new TransportFailed('The live channel skipped an event.');
        seq = event.seq;
        isOverdue = false;
        yield event;
        if (event.type === 'run.ended' || event.type === 'callback.attempted') {
          hasEnded = true;
          wasChecked = false;
        }
        continue;
      }
      // Silence means that the feed is complete, or that the connection was lost without a close.
      const { isComplete, hasNewer } = await fetchProgressIfReachable(task, seq, hasEnded);
      if (isComplete) return;
      if (hasNewer && isOverdue) throw new TransportFailed('The live channel does not deliver new events.');
      isOverdue = hasNewer;
      wasChecked = true;
    }
  } finally {
    room.close();
  }
}

function silenceLimitMs(hasEnded: boolean, wasChecked: boolean): number {
  if (hasEnded) return wasChecked ? SETTLING_MS : 0;
  return wasChecked ? SILENT_ROOM_MS : JUST_JOINED_MS;
}

/** Ignores an unreachable API until the run has ended, because the live channel may still work. */
async function fetchProgressIfReachable(task: FollowedTask, seq: number, hasEnded: boolean) {
  try {
    return await fetchProgress(task, seq);
  } catch (error) {
    if (hasEnded || !isTransient(error)) throw error;
    return { isComplete: false, hasNewer: false };
  }
}

async function* readStream(
  { http, id, signal, onConnected }: FollowedTask,
  after: number,
): AsyncGenerator<FeedEvent, void, undefined> {
  const { response, timeout } = await http.open({
    method: 'GET',
    path: pathOf('tasks', id, 'events'),
    query: { after },
    headers: { Accept: 'text/event-stream' },
    signal,
  });
  timeout.restart(FIRST_BYTES_MS);
  try {
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (!isStream || response.body === null) {
      // An unread body keeps its connection occupied. The error below says more than a failure to cancel it.
      await response.body?.cancel().catch(() => {});
      throw new TransportFailed('The response is not a stream of server-sent events.', true);
    }
    onConnected();
    for await (const data of readSse(response.body, () => timeout.restart(STREAM_SILENCE_MS))) {
      yield JSON.parse(data) as FeedEvent;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof TransportFailed) throw error;
    throw new TransportFailed(`The event stream failed: ${String(error)}`);
  } finally {
    timeout.release();
  }
}

async function* readByPolling(
  { http, id, signal, onConnected }: FollowedTask,
  after: number,
): AsyncGenerator<FeedEvent, void, undefined> {
  const path = pathOf('tasks', id, 'events');
  const { data } = await http.json<{ data: FeedEvent[] }>({
    method: 'GET',
    path,
    query: { after },
    retries: 0,
    signal,
  });
  onConnected();
  yield* data;
  if (data.length === 0) await pause(POLL_MS, signal);
}
