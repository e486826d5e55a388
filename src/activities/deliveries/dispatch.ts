import { Context } from '@temporalio/activity';
import type { Database } from '../../database/database.ts';
import {
  readDeliveriesToSend,
  claimGroupEvents,
  moveToBacklog,
  markGroupDone,
  storeDeliveries,
  findWaiting,
  type GroupEvent,
  type PlannedDelivery,
} from '../../database/webhooks/dispatch.ts';
import { matchEvent } from '../../domain/webhooks/matching.ts';
import { derivedUuid } from '../../database/common/ids.ts';
import type { Endpoint } from '../../database/webhooks/endpoints.ts';
import type { DeliveryControl } from '../../temporal/delivery-control.ts';
import type { DispatchInput } from '../../temporal/delivery-messages.ts';
import { startHeartbeat } from '../heartbeat.ts';
import { engineClock, refusalOf, type Attempt, type EngineTime } from './attempts.ts';
import type { EndpointCache } from './endpoint-cache.ts';
import type { Post } from './post.ts';

export type DispatchActivities = ReturnType<typeof createDispatchActivities>;

export type DispatchDependencies = {
  database: Database;
  endpointCache: EndpointCache;
  attempt: Attempt;
  control: Pick<DeliveryControl, 'drainBacklog'>;
  engineTime: EngineTime;
};

/** Time that an attempt waits for a free place of its webhook before it moves to the backlog, in milliseconds. */
const MAX_WAIT_MS = 1_000;
/**
 * Duration of the group's short activity, in milliseconds. A long activity waits for attempts that are still in flight.
 */
const BRIEF_MS = 2_500;
/**
 * Time after which every attempt of the short activity is certainly over, in milliseconds since its delivery was
 * stored.
 */
const ATTEMPT_EXPIRY_MS = 36_000;
const POLL_MS = 1_000;
/** Batching window for moves to the backlog, in milliseconds. */
const BATCH_MS = 20;

/** Creates the activities that make first attempts, in groups of events. */
export function createDispatchActivities(deps: DispatchDependencies) {
  const { database, attempt, control } = deps;
  /** First attempts in flight in this process, by delivery. */
  const underWay = new Map<string, Promise<void>>();

  /**
   * Starts the attempts concurrently, in order. A delivery that is in flight in this process already is not sent again.
   * Each promise resolves when its attempt is recorded, or its delivery is in the backlog.
   */
  function begin(deliveries: readonly Post[], now: () => Date): Map<string, Promise<void>> {
    const enqueue = createBacklogBatcher(now);
    const sendOne = async (delivery: Post): Promise<void> => {
      const options = { trigger: 'automatic', waitMs: MAX_WAIT_MS, now, startsRetries: true } as const;
      const outcome = await attempt(delivery, options);
      if (outcome.kind === 'no_room') await enqueue(delivery);
    };
    const begun = deliveries.map((delivery) => {
      const { id } = delivery;
      const sending = underWay.get(id) ?? sendOne(delivery).finally(() => underWay.delete(id));
      underWay.set(id, sending);
      return [id, sending] as const;
    });
    return new Map(begun);
  }

  /** Moves deliveries to the backlogs of their webhooks, in one batch for each window. */
  function createBacklogBatcher(now: () => Date): (delivery: Post) => Promise<void> {
    let next: { deliveries: Post[]; moved: Promise<void> } | null = null;
    async function moveAll(deliveries: readonly Post[]): Promise<void> {
      const ids = deliveries.map(({ id }) => id);
      await moveToBacklog(database, ids, now());
      const webhooks = new Set(deliveries.map(({ webhook_id: id }) => id));
      await Promise.all([...webhooks].map((webhookId) => control.drainBacklog(webhookId)));
    }
    return (delivery) => {
      if (next === null) {
        const deliveries: Post[] = [];
        const moved = after(BATCH_MS).then(() => {
          next = null;
          return moveAll(deliveries);
        });
        next = { deliveries, moved };
      }
      next.deliveries.push(delivery);
      return next.moved;
    };
  }

  function underWayAmong(planned: readonly PlannedDelivery[]): Map<string, Promise<void>> {
    return new Map(
      planned.flatMap(({ id }) => {
        const sending = underWay.get(id);
        return sending ? [[id, sending] as const] : [];
      }),
    );
  }

  return {
    /**
     * Matches the events of a group with the webhooks of their workspaces, stores the deliveries and makes their first
     * attempts. A repeat skips recorded deliveries. Returns the deliveries that are still in flight after a moment, for
     * {@link finishGroup}.
     */
    async dispatchGroup({ groupId }: DispatchInput): Promise<{ unfinished: string[] }> {
      const now = await engineClock(deps.engineTime);
      const [events, endpoints] = await Promise.all([
        claimGroupEvents(database, groupId),
        deps.endpointCache.forGroup(groupId),
      ]);
      const planned = plan(events, endpoints);
      // Read before the rows, so that an attempt that ends in between does not count as waiting.
      const attempts = underWayAmong(planned);
      const waiting = await storeDeliveries(database, planned, now());
      const posts = postsOf(planned, events, waiting).filter(({ id }) => !attempts.has(id));
      for (const [id, sending] of begin(posts, now)) attempts.set(id, sending);
      const errors: unknown[] = [];
      for (const sending of attempts.values()) sending.catch((error: unknown) => errors.push(error));
      const ending = allEnded(attempts.values()).then(() => markGroupDone(database, groupId, now()));
      const isDone = await Promise.race([ending.then(() => true), after(BRIEF_MS)]);
      if (isDone) return { unfinished: [] };
      // The long activity waits for the end if it runs in this process.
      ending.catch(() => {});
      // A repeat of this activity starts failed attempts again and joins those in flight.
      if (errors.length > 0) throw errors[0];
      return { unfinished: [...attempts.keys()].filter((id) => underWay.has(id)) };
    },

    /** Waits until the remaining deliveries of a group are recorded. Sends those again whose process died. */
    async finishGroup({ groupId, ids }: DispatchInput & { ids: string[] }): Promise<void> {
      const stopHeartbeat = startHeartbeat();
      try {
        const now = await engineClock(deps.engineTime);
        await Promise.all(ids.flatMap((id) => underWay.get(id) ?? []));
        for (;;) {
          const waiting = await findWaiting(database, ids);
          const deliveries = await readDeliveriesToSend(database, [...waiting]);
          if (deliveries.length === 0) break;
          const over = deliveries.filter(
            ({ created_at: at }) => now().getTime() - at.getTime() > ATTEMPT_EXPIRY_MS,
          );
          await allEnded(begin(over.flatMap(asPost), now).values());
          if (over.length < deliveries.length) await after(POLL_MS);
          Context.current().cancellationSignal.throwIfAborted();
        }
        await markGroupDone(database, groupId, now());
      } finally {
        stopHeartbeat();
      }
    },
  };
}

/** Returns the deliveries of the events: pending, held or skipped, in the order of the events. */
function plan(
  events: readonly GroupEvent[],
  known: ReadonlyMap<string, readonly Endpoint[]>,
): PlannedDelivery[] {
  const planned: PlannedDelivery[] = [];
  for (const event of events) {
    const endpoints = known.get(event.workspace_id) ?? [];
    if (endpoints.length === 0) continue;
    const { data } = JSON.parse(event.body) as { data: Record<string, unknown> };
    for (const endpoint of endpoints) {
      const verdict = matchEvent(endpoint.events, { event: event.event, data });
      if (verdict.verdict === 'unsubscribed') continue;
      const refusal =
        verdict.verdict === 'skip' ? (['skipped', verdict.reason] as const) : refusalOf(endpoint);
      if (refusal?.[0] === 'cancelled') continue;
      planned.push({
        id: derivedUuid(event.received_at, `${event.seq}:${endpoint.id}`),
        workspace_id: event.workspace_id,
        webhook_id: endpoint.id,
        event_seq: event.seq,
        event_id: event.id,
        event: event.event,
        status: refusal?.[0] ?? 'pending',
        reason: refusal?.[1] ?? null,
      });
    }
  }
  return planned;
}

/** Returns the deliveries to post. All deliveries of an event share its bytes. */
function postsOf(
  planned: readonly PlannedDelivery[],
  events: readonly GroupEvent[],
  waiting: ReadonlySet<string>,
): Post[] {
  const bySeq = new Map(events.map((event) => [event.seq, { ...event, body: Buffer.from(event.body) }]));
  return planned.flatMap(({ id, webhook_id, workspace_id, event_seq }) => {
    const event = bySeq.get(event_seq);
    if (!event || !waiting.has(id)) return [];
    const { event: kind, timestamp, body, traceparent } = event;
    return [{ id, webhook_id, workspace_id, event: kind, timestamp, body, traceparent, generation: 0 }];
  });
}

/** Converts a stored delivery for posting. Empty if its payload is past its retention. */
export function asPost(delivery: { body: string | null } & Omit<Post, 'body'>): Post[] {
  return delivery.body === null ? [] : [{ ...delivery, body: Buffer.from(delivery.body) }];
}

/**
 * Waits until all attempts have ended.
 * @throws the error of the first failed one
 */
async function allEnded(attempts: Iterable<Promise<void>>): Promise<void> {
  const settled = await Promise.allSettled(attempts);
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
}

function after(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), ms));
}
