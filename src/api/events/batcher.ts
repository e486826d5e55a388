import { setTimeout as wait } from 'node:timers/promises';
import type { NewEvent } from '../../database/webhooks/events.ts';
import { Problem } from '../http/problem.ts';
import type { InTrace } from './group-starter.ts';
import type { GroupStore } from './group-store.ts';
import { createBatchingWindow } from './batching-window.ts';

/** Maximum size of a group. A larger request forms a separate group. */
const FULL_EVENTS = 100;
const FULL_BYTES = 512 * 1_024;
/**
 * Maximum size of all waiting requests. Further requests are rejected, because they arrive faster than they are
 * stored.
 */
const MAX_WAITING_BYTES = 128 * 1_024 * 1_024;

/** How often closing looks for what still waits, in milliseconds. */
const CLOSE_POLL_MS = 10;

type Request = {
  events: readonly NewEvent[];
  bytes: number;
  arrivedAt: number;
  promise: PromiseWithResolvers<ReadonlySet<string>>;
};

/**
 * Batches requests into groups, as a database groups commits. An idle batcher dispatches a request immediately. While
 * groups are in flight, the next group grows; `batching-window.ts` decides when it is dispatched. A request is never
 * split. `clock` is monotonic, in milliseconds.
 */
export function createBatcher(
  store: GroupStore,
  inTrace: InTrace = (_traceparent, work) => work(),
  clock: () => number = () => performance.now(),
) {
  const waiting: Request[] = [];
  let waitingBytes = 0;
  const batchingWindow = createBatchingWindow();
  let timer: NodeJS.Timeout | null = null;
  const runs = new Set<Promise<void>>();

  function pump(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    for (;;) {
      const now = clock();
      const oldestAt = waiting[0]?.arrivedAt ?? now;
      const at = batchingWindow.nextDispatchAt(
        { requests: waiting.length, isFull: isFull(waiting), oldestAt },
        now,
      );
      if (at !== 0) {
        if (at !== null) timer = setTimeout(pump, Math.ceil(at - now));
        return;
      }
      dispatch(nextGroup(), now);
    }
  }

  function dispatch(group: readonly Request[], now: number): void {
    batchingWindow.dispatched(group.length, now);
    // The request that triggers a dispatch may not be in the group. The group belongs to the trace of its first
    // request.
    const run = inTrace(group[0]?.events[0]?.traceparent ?? null, () => send(group)).finally(() => {
      runs.delete(run);
      batchingWindow.finished(group.length, waiting.length, clock());
      pump();
    });
    runs.add(run);
  }

  /**
   * Removes and returns the next group, in order of arrival. A request with an event id that is already in the group
   * starts the next group.
   */
  function nextGroup(): Request[] {
    const ids = new Set<string>();
    let count = 0;
    let events = 0;
    let bytes = 0;
    for (const request of waiting) {
      const isRoom = events + request.events.length <= FULL_EVENTS && bytes + request.bytes <= FULL_BYTES;
      const keys = request.events.map(keyOf);
      if (count > 0 && (!isRoom || keys.some((key) => ids.has(key)))) break;
      for (const key of keys) ids.add(key);
      count += 1;
      events += request.events.length;
      bytes += request.bytes;
    }
    waitingBytes -= bytes;
    return waiting.splice(0, count);
  }

  /** Resolves when the group is stored, whatever the result of its requests. */
  async function send(group: readonly Request[]): Promise<void> {
    try {
      const results = await store.store(group.map(({ events }) => events));
      for (const [index, { promise }] of group.entries()) {
        const result = results[index] ?? { error: new Error('a request has no result') };
        if ('accepted' in result) promise.resolve(result.accepted);
        else promise.reject(result.error);
      }
    } catch (error) {
      for (const { promise } of group) promise.reject(error);
    }
  }

  return {
    /**
     * Adds the events of one request. Resolves, once they are committed, to the ids of the events that were already
     * accepted.
     * @throws Problem `conflict`, or the outage of PostgreSQL; in both cases nothing was accepted
     */
    add(events: readonly NewEvent[]): Promise<ReadonlySet<string>> {
      const bytes = events.reduce((sum, { body }) => sum + body.length, 0);
      if (waitingBytes + bytes > MAX_WAITING_BYTES) throw tooMany();
      const promise = Promise.withResolvers<ReadonlySet<string>>();
      waiting.push({ events, bytes, arrivedAt: clock(), promise });
      waitingBytes += bytes;
      pump();
      return promise.promise;
    },

    /** Resolves when all added requests are stored or rejected. */
    async close(): Promise<void> {
      while (runs.size > 0 || waiting.length > 0) await Promise.race([...runs, wait(CLOSE_POLL_MS)]);
    },
  };
}

export type Batcher = ReturnType<typeof createBatcher>;

function isFull(requests: readonly Request[]): boolean {
  let events = 0;
  let bytes = 0;
  for (const request of requests) {
    events += request.events.length;
    bytes += request.bytes;
    if (events >= FULL_EVENTS || bytes >= FULL_BYTES) return true;
  }
  return false;
}

function tooMany(): Problem {
  return new Problem('unavailable', 'Too many events to store. Nothing was accepted. Try again soon.', {
    headers: { 'Retry-After': '1' },
  });
}

function keyOf({ workspaceId, id }: NewEvent): string {
  return `${workspaceId} ${id}`;
}
