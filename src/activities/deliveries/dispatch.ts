import { Context } from '@temporalio/activity';
import type { Database } from '../../database/database.ts';
import {
  deliveriesToSend,
  eventsOfGroup,
  leaveToBacklog,
  noteGroupDone,
  storeDeliveries,
  waitingAmong,
  type GroupEvent,
  type PlannedDelivery,
} from '../../database/webhooks/dispatch.ts';
import { judge } from '../../domain/webhooks/matching.ts';
import { derivedUuid } from '../../database/common/ids.ts';
import type { Endpoint } from '../../database/webhooks/endpoints.ts';
import type { DeliveryControl } from '../../temporal/delivery-control.ts';
import type { DispatchInput } from '../../temporal/delivery-messages.ts';
import { keepBeating } from '../heartbeat.ts';
import { engineClock, refusalOf, type Attempt, type EngineTime } from './attempts.ts';
import type { EndpointBook } from './endpoint-book.ts';
import type { Post } from './post.ts';

export type DispatchActivities = ReturnType<typeof createDispatchActivities>;

export type DispatchDependencies = {
  database: Database;
  book: EndpointBook;
  attempt: Attempt;
  control: Pick<DeliveryControl, 'drainBacklog'>;
  engineTime: EngineTime;
};

/** An attempt leaves its group for the backlog when its webhook's limit admits nobody for so long. */
const ADMISSION_MS = 1_000;
/** The group's short activity ends after this time; what is still under way goes on in a long one. */
const BRIEF_MS = 2_500;
/** Every attempt of the short activity is certainly over so long after its delivery was stored. */
const OVER_MS = 36_000;
const LOOK_MS = 1_000;
/** Who leaves for the backlog waits so long for others. */
const GATHER_MS = 20;

/** First attempts, in groups of events. */
export function createDispatchActivities(deps: DispatchDependencies) {
  const { database, attempt, control } = deps;
  /** First attempts of this process that are under way, by delivery. */
  const underWay = new Map<string, Promise<void>>();

  /**
   * Begins to send side by side, in order; what is under way in this process already is not sent again. Each resolves
   * when its attempt is recorded, or left to the backlog.
   */
  function begin(deliveries: readonly Post[], now: () => Date): Map<string, Promise<void>> {
    const leave = createLeaving(now);
    const sendOne = async (delivery: Post): Promise<void> => {
      const wish = { trigger: 'automatic', waitMs: ADMISSION_MS, now, startsRetries: true } as const;
      const outcome = await attempt(delivery, wish);
      if (outcome.kind === 'no_room') await leave(delivery);
    };
    const begun = deliveries.map((delivery) => {
      const { id } = delivery;
      const sending = underWay.get(id) ?? sendOne(delivery).finally(() => underWay.delete(id));
      underWay.set(id, sending);
      return [id, sending] as const;
    });
    return new Map(begun);
  }

  /** Leaves deliveries to the backlogs of their webhooks, those of the same moment together. */
  function createLeaving(now: () => Date): (delivery: Post) => Promise<void> {
    let next: { deliveries: Post[]; left: Promise<void> } | null = null;
    async function leaveAll(deliveries: readonly Post[]): Promise<void> {
      const ids = deliveries.map(({ id }) => id);
      await leaveToBacklog(database, ids, now());
      const webhooks = new Set(deliveries.map(({ webhook_id: id }) => id));
      await Promise.all([...webhooks].map((webhookId) => control.drainBacklog(webhookId)));
    }
    return (delivery) => {
      if (next === null) {
        const deliveries: Post[] = [];
        const left = after(GATHER_MS).then(() => {
          next = null;
          return leaveAll(deliveries);
        });
        next = { deliveries, left };
      }
      next.deliveries.push(delivery);
      return next.left;
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
     * Matches the events of a group with the webhooks of their workspaces, stores the deliveries and makes their
     * first attempts. A repeat leaves alone what is recorded. Answers the deliveries that are still under way after a
     * moment, for {@link finishGroup}.
     */
    async dispatchGroup({ groupId }: DispatchInput): Promise<{ unfinished: string[] }> {
      const now = await engineClock(deps.engineTime);
      const [events, endpoints] = await Promise.all([
        eventsOfGroup(database, groupId),
        deps.book.forGroup(groupId),
      ]);
      const planned = plan(events, endpoints);
      // Looked at before the rows: what ends between the two looks is not taken for one that waits.
      const attempts = underWayAmong(planned);
      const waiting = await storeDeliveries(database, planned, now());
      const posts = postsOf(planned, events, waiting).filter(({ id }) => !attempts.has(id));
      for (const [id, sending] of begin(posts, now)) attempts.set(id, sending);
      const broken: unknown[] = [];
      for (const sending of attempts.values()) sending.catch((error: unknown) => broken.push(error));
      const ending = allEnded(attempts.values()).then(() => noteGroupDone(database, groupId, now()));
      const isDone = await Promise.race([ending.then(() => true), after(BRIEF_MS)]);
      if (isDone) return { unfinished: [] };
      // Its end is waited for by the long activity, if that comes to this process; nobody else must.
      ending.catch(() => {});
      // What came to nothing is begun again by a repeat of this one, which joins those that are under way.
      if (broken.length > 0) throw broken[0];
      return { unfinished: [...attempts.keys()].filter((id) => underWay.has(id)) };
    },

    /** Waits until the deliveries that a group left under way are recorded, and makes up for a process that died. */
    async finishGroup({ groupId, ids }: DispatchInput & { ids: string[] }): Promise<void> {
      const stopBeating = keepBeating();
      try {
        const now = await engineClock(deps.engineTime);
        await Promise.all(ids.flatMap((id) => underWay.get(id) ?? []));
        for (;;) {
          const waiting = await waitingAmong(database, ids);
          const deliveries = await deliveriesToSend(database, [...waiting]);
          if (deliveries.length === 0) break;
          const over = deliveries.filter(({ created_at: at }) => now().getTime() - at.getTime() > OVER_MS);
          await allEnded(begin(over.flatMap(asPost), now).values());
          if (over.length < deliveries.length) await after(LOOK_MS);
          Context.current().cancellationSignal.throwIfAborted();
        }
        await noteGroupDone(database, groupId, now());
      } finally {
        stopBeating();
      }
    },
  };
}

/** Every delivery that the events come to: to be sent, held or skipped, in the order of the events. */
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
      const verdict = judge(endpoint.events, { event: event.event, data });
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

/** What is to be posted. The bytes of an event are made once for all its deliveries. */
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

/** A stored delivery as it is posted; none where its payload is past its retention. */
export function asPost(delivery: { body: string | null } & Omit<Post, 'body'>): Post[] {
  return delivery.body === null ? [] : [{ ...delivery, body: Buffer.from(delivery.body) }];
}

/** Waits until all have ended. @throws what the first broken one has thrown */
async function allEnded(attempts: Iterable<Promise<void>>): Promise<void> {
  const settled = await Promise.allSettled(attempts);
  const broken = settled.find((one) => one.status === 'rejected');
  if (broken) throw broken.reason;
}

function after(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), ms));
}
