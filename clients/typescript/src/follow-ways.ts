import { joinRoom, type ChannelDependencies } from './channel.ts';
import { pathOf, type Http } from './http.ts';
import { isPassing } from './retry.ts';
import { readSse } from './sse.ts';
import { pause } from './time.ts';
import type { FeedEvent, Task } from './types.ts';
import { isSettled } from './wait-for.ts';
import { WayFailed } from './way-failed.ts';

/** The task that is followed, and by what. */
export type Followed = {
  http: Http;
  channel: ChannelDependencies;
  id: string;
  signal?: AbortSignal | undefined;
  /** Called by a way as soon as events come by it. */
  onConnected(): void;
};

/** `channel`: the live channel; `stream`: server-sent events; `polling`: one request after another. */
export type WayName = 'channel' | 'stream' | 'polling';

/**
 * A way to the events behind `after`, in order; it ends when it has no more to give for now.
 * @throws WayFailed where only this way is out of reach
 */
export type Way = {
  name: WayName;
  read(task: Followed, after: number): AsyncGenerator<FeedEvent, void, undefined>;
  /** After so many failures in a row without an event the next way is taken. */
  tries: number;
};

/** The first bytes of a stream come at once, and a sign of life every 15 s. */
const FIRST_BYTES_MS = 5_000;
const SILENCE_MS = 45_000;
/** So long nothing comes in a room that was just joined, in one that is silent, in that of an ended task. */
const JUST_JOINED_MS = 300;
const SILENT_ROOM_MS = 20_000;
const SETTLING_MS = 1_000;
/** An event that is there may take so long to arrive. */
const LATE_MS = 3_000;
const POLL_MS = 1_000;

/** The ways to a task's events, the best first. */
export const WAYS: readonly [Way, ...Way[]] = [
  { name: 'channel', read: byChannel, tries: 2 },
  { name: 'stream', read: byStream, tries: 2 },
  { name: 'polling', read: byPolling, tries: Number.POSITIVE_INFINITY },
];

/** `isOver`: nothing comes behind `seq` any more. `isBehind`: something is there behind it already. */
export async function lookAt(
  { http, id, signal }: Followed,
  seq: number,
): Promise<{ isOver: boolean; isBehind: boolean }> {
  const task = await http.json<Task>({ method: 'GET', path: pathOf('tasks', id), retries: 0, signal });
  const isBehind = task.last_seq > seq;
  return { isBehind, isOver: isSettled(task) && !isBehind };
}

async function* byChannel(task: Followed, after: number): AsyncGenerator<FeedEvent, void, undefined> {
  const room = await joinRoom(task.http, task.channel, { id: task.id, after, signal: task.signal });
  task.onConnected();
  let seq = after;
  let hasEnded = false;
  let wasLookedAt = false;
  let isLate = false;
  try {
    for (;;) {
      const event = await room.next(isLate ? LATE_MS : quietMs(hasEnded, wasLookedAt));
      if (event !== null) {
        if (event.seq <= seq) continue;
        if (event.seq > seq + 1) throw new WayFailed('The live channel skipped an event.');
        seq = event.seq;
        isLate = false;
        yield event;
        if (event.type === 'run.ended' || event.type === 'callback.attempted') {
          hasEnded = true;
          wasLookedAt = false;
        }
        continue;
      }
      // Silence may be the end, or a connection that died without a word.
      const { isOver, isBehind } = await lookIfThere(task, seq, hasEnded);
      if (isOver) return;
      if (isBehind && isLate) throw new WayFailed('The live channel is silent.');
      isLate = isBehind;
      wasLookedAt = true;
    }
  } finally {
    room.close();
  }
}

function quietMs(hasEnded: boolean, wasLookedAt: boolean): number {
  if (hasEnded) return wasLookedAt ? SETTLING_MS : 0;
  return wasLookedAt ? SILENT_ROOM_MS : JUST_JOINED_MS;
}

/** While a task goes on its room may live although the API is away. */
async function lookIfThere(task: Followed, seq: number, hasEnded: boolean) {
  try {
    return await lookAt(task, seq);
  } catch (error) {
    if (hasEnded || !isPassing(error)) throw error;
    return { isOver: false, isBehind: false };
  }
}

async function* byStream(
  { http, id, signal, onConnected }: Followed,
  after: number,
): AsyncGenerator<FeedEvent, void, undefined> {
  const { response, limit } = await http.open({
    method: 'GET',
    path: pathOf('tasks', id, 'events'),
    query: { after },
    headers: { Accept: 'text/event-stream' },
    signal,
  });
  limit.restart(FIRST_BYTES_MS);
  try {
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (!isStream || response.body === null) throw new WayFailed('Streams do not get through.', true);
    onConnected();
    for await (const data of readSse(response.body, () => limit.restart(SILENCE_MS))) {
      yield JSON.parse(data) as FeedEvent;
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof WayFailed) throw error;
    throw new WayFailed(`The stream broke off: ${String(error)}`);
  } finally {
    limit.release();
  }
}

async function* byPolling(
  { http, id, signal, onConnected }: Followed,
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
