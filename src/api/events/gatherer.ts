import type { NewEvent } from '../../database/webhooks/events.ts';
import { EngineUnavailable } from '../../temporal/task-control.ts';
import { Problem, unavailable } from '../http/problem.ts';
import type { GroupStore } from './group-store.ts';
import { createPace } from './pace.ts';

/** When a group is full; a request larger than that is a group of its own. */
const FULL_EVENTS = 100;
const FULL_BYTES = 512 * 1_024;
/** What may wait in all; more is refused, since whoever sends is faster than we are. */
const MOST_WAITING_BYTES = 128 * 1_024 * 1_024;

/** Does the work in the trace of a `traceparent`. */
type InTrace = (traceparent: string | null, work: () => Promise<void>) => Promise<void>;

type Request = {
  events: readonly NewEvent[];
  bytes: number;
  arrivedAt: number;
  promise: PromiseWithResolvers<ReadonlySet<string>>;
};

/**
 * Gathers requests as a database gathers commits: at rest a request goes at once; while groups are under way the next
 * one grows, at the pace of `pace.ts`. A request is never split.
 */
export function createGatherer(store: GroupStore, inTrace: InTrace = (_traceparent, work) => work()) {
  let waiting: Request[] = [];
  let waitingBytes = 0;
  const pace = createPace();
  let timer: NodeJS.Timeout | null = null;
  const runs = new Set<Promise<void>>();

  function pump(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    for (;;) {
      const now = performance.now();
      const oldestAt = waiting[0]?.arrivedAt ?? now;
      const at = pace.leavesAt({ requests: waiting.length, isFull: isFull(waiting), oldestAt }, now);
      if (at !== 0) {
        if (at !== null) timer = setTimeout(pump, Math.ceil(at - now));
        return;
      }
      leave(nextGroup(), now);
    }
  }

  function leave(group: readonly Request[], now: number): void {
    pace.left(group.length, now);
    // Whoever happens to set a group off need not be in it: it belongs to the trace of its first request.
    const run = inTrace(group[0]?.events[0]?.traceparent ?? null, () => send(group)).finally(() => {
      runs.delete(run);
      pace.done(group.length, waiting.length, performance.now());
      pump();
    });
    runs.add(run);
  }

  /** As many as fit, in their order. One with an id that is in the group already begins the next. */
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

  /** Resolves when the group has been started, whatever becomes of the requests. */
  async function send(group: readonly Request[]): Promise<void> {
    try {
      const promised = await store.store(group.map(({ events }) => events));
      const settled = await Promise.allSettled(
        group.map(async ({ promise }, index) => {
          const outcome = promised[index];
          if (outcome) promise.resolve(outcome);
          await outcome;
        }),
      );
      for (const one of settled) if (one.status === 'rejected') dismissIfOut(one.reason);
    } catch (error) {
      for (const { promise } of group) promise.reject(error);
    }
  }

  /** While Temporal is out of reach every start takes its time to fail; what waits would only fail later. */
  function dismissIfOut(reason: unknown): void {
    if (!(reason instanceof EngineUnavailable)) return;
    for (const { promise } of waiting) promise.reject(unavailable('Temporal', reason));
    waiting = [];
    waitingBytes = 0;
  }

  return {
    /**
     * Takes the events of one request. Resolves, once all are sure to be sent, to the ids of those that were there
     * already.
     * @throws Problem `conflict`, or what says that PostgreSQL or Temporal is out of reach: then nothing was taken
     */
    take(events: readonly NewEvent[]): Promise<ReadonlySet<string>> {
      const bytes = events.reduce((sum, { body }) => sum + body.length, 0);
      if (waitingBytes + bytes > MOST_WAITING_BYTES) throw tooMany();
      const promise = Promise.withResolvers<ReadonlySet<string>>();
      waiting.push({ events, bytes, arrivedAt: performance.now(), promise });
      waitingBytes += bytes;
      pump();
      return promise.promise;
    },

    /** Resolves when everything that was taken is stored and started, or refused. */
    async close(): Promise<void> {
      while (runs.size > 0 || waiting.length > 0) await Promise.race([...runs, pause()]);
      await store.settled();
    },
  };
}

export type Gatherer = ReturnType<typeof createGatherer>;

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

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10));
}
