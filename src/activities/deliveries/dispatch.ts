import { ApplicationFailure, Context } from '@temporalio/activity';
import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import type { GroupEvent, PlannedDelivery } from '../../database/webhooks/dispatch.ts';
import type { WebhookTarget } from '../../database/webhooks/webhook-targets.ts';
import { SENDS_NO_WEBHOOKS, type DispatchInput } from '../../temporal/delivery-messages.ts';
import { startHeartbeat } from '../heartbeat.ts';
import { allEnded } from './all-ended.ts';
import { engineClock, type EngineTime } from './attempts.ts';
import type { WebhookLoader } from './webhook-loader.ts';
import type { FirstAttempts } from './first-attempts.ts';
import { createNewDeliveries } from './new-deliveries.ts';
import { selectSendable } from './sendable-deliveries.ts';
import { beginTurn } from '../../domain/common/turn.ts';
import { planDeliveries, postsOf } from './planned-deliveries.ts';
import type { Post } from './post.ts';

export type DispatchActivities = ReturnType<typeof createDispatchActivities>;

/** The result of a dispatch. Results of previous versions have the ids of the unfinished deliveries. */
export type DispatchResult = { isFinished: boolean } | { isFinished?: never; unfinished: string[] };

export type DispatchDependencies = {
  store: DeliveryStore;
  firstAttempts: FirstAttempts;
  webhookLoader: WebhookLoader;
  engineTime: EngineTime;
};

/**
 * Duration of the group's short activity, in milliseconds. A long activity waits for attempts that are still in flight.
 */
const BRIEF_MS = 2_500;
/**
 * Time after which every attempt of the short activity is certainly over, in milliseconds since its group was claimed: it begins
 * within {@link LATE_MS}, waits up to five seconds for its place, and lasts up to 30.
 */
const FIRST_ATTEMPT_EXPIRY_MS = 45_000;
const POLL_MS = 1_000;
/**
 * Maximum time from the claim of a group to its first attempts, in milliseconds. Later, another process may have sent the
 * deliveries: Temporal assigns the work of a process that does not respond to another one, after 10 s at the earliest.
 */
const LATE_MS = 5_000;

/** Events that were claimed, and the webhooks of their workspaces. */
type Claim = {
  events: readonly GroupEvent[];
  endpoints: ReadonlyMap<string, readonly WebhookTarget[]>;
  claimedAt: Date;
};

/**
 * What to send of claimed events. `inFlight`: attempts of this process that began before. `unstored`: the deliveries of `posts`
 * if they have no rows yet.
 */
type Plan = {
  posts: Iterable<Post>;
  inFlight: Map<string, Promise<void>>;
  unstored: readonly PlannedDelivery[] | null;
};

/** Creates the activities that make first attempts, in groups of events. */
export function createDispatchActivities(deps: DispatchDependencies) {
  const { store, firstAttempts, webhookLoader } = deps;

  /** Plans events that are dispatched for the first time. Stores only deliveries that are not sent. */
  async function planFirst({ events, endpoints, claimedAt }: Claim): Promise<Plan> {
    const planned = await planInTurns(events, endpoints);
    const unstored = planned.filter(({ status }) => status === 'pending');
    await store.storeDeliveries(planned.filter(isUnsent), claimedAt);
    const toSend = new Set(unstored.map(({ id }) => id));
    return { posts: postsOf(planned, events, toSend), inFlight: new Map(), unstored };
  }

  /** Plans events that may have been dispatched before. Stores all deliveries, to find out which were recorded. */
  async function planAgain({ events, endpoints, claimedAt }: Claim): Promise<Plan> {
    const stored = await store.findDeliveryIds(events.map(({ seq }) => seq));
    const planned = await planInTurns(events, endpoints, stored);
    // Read before the rows, so that an attempt that ends during the write does not count as waiting.
    const inFlight = firstAttempts.among(planned.map(({ id }) => id));
    const waiting = await store.storeDeliveries(planned, claimedAt);
    return { posts: postsOf(planned, events, waiting.difference(inFlight)), inFlight, unstored: null };
  }

  return {
    /**
     * Matches the events of the groups with the webhooks of their workspaces, and makes and records the first attempts
     * of their deliveries. A repeat skips recorded deliveries. Returns whether all attempts ended within
     * {@link BRIEF_MS}; if not, {@link finishGroup} waits for the others.
     */
    async dispatchGroup(input: DispatchInput): Promise<DispatchResult> {
      const groupIds = groupsOf(input);
      const workflowId = ownWorkflowId();
      const now = await engineClock(deps.engineTime);
      const begun = performance.now();
      const claimedAt = now();
      const [{ events, isRepeat }, endpoints] = await Promise.all([
        store.claimGroups(groupIds, workflowId),
        webhookLoader.loadForGroups(groupIds, claimedAt),
      ]);
      const claim = { events, endpoints, claimedAt };
      const { posts, inFlight, unstored } = isRepeat ? await planAgain(claim) : await planFirst(claim);
      const { cancellationSignal } = Context.current();
      // If this execution has timed out, or its process was frozen, a repeat sends what is not recorded yet.
      const throwIfLate = () => {
        cancellationSignal.throwIfAborted();
        if (!isRepeat && performance.now() - begun > LATE_MS)
          throw new Error(`the groups were claimed more than ${LATE_MS / 1_000} s ago`);
      };
      throwIfLate();
      const rows = unstored && createNewDeliveries(store, unstored, claimedAt);
      const started = await firstAttempts.start(posts, now, { rows, throwIfLate }).catch((error: unknown) => {
        rows?.close();
        throw error;
      });
      const attempts = new Map([...inFlight, ...started]);
      const errors: unknown[] = [];
      for (const sending of attempts.values()) sending.catch((error: unknown) => errors.push(error));
      const ending = allEnded(attempts.values())
        .finally(() => rows?.close())
        .then(async () => {
          // A delivery that was stored before is still sent if its webhook has other filters by now, or is inactive.
          if (isRepeat && (await store.findWaitingOfGroups(groupIds, workflowId)).size > 0) return false;
          await store.markGroupsDone(groupIds, workflowId, now());
          return true;
        });
      const isDone = await Promise.race([ending, after(BRIEF_MS)]);
      if (isDone) return { isFinished: true };
      // The long activity waits for the end if it runs in this process.
      ending.catch(() => {});
      // A repeat of this activity starts failed attempts again and joins those in flight.
      if (errors.length > 0) throw errors[0];
      // After a crash, only deliveries with a row are found. A result that is being recorded may still be lost.
      await rows?.store([...firstAttempts.among(attempts.keys()).keys()]);
      return { isFinished: false };
    },

    /**
     * Waits until the remaining deliveries of the groups are recorded. Sends those again whose process died. Workflows
     * of previous versions pass their ids.
     */
    async finishGroup({ ids, ...input }: DispatchInput & { ids?: string[] }): Promise<void> {
      using _heartbeat = startHeartbeat();
      const find = () =>
        ids ? store.findWaiting(ids) : store.findWaitingOfGroups(groupsOf(input), ownWorkflowId());
      const now = await engineClock(deps.engineTime);
      const { cancelled } = Context.current();
      await Promise.race([Promise.all(firstAttempts.among(await find()).values()), cancelled]);
      for (;;) {
        const waiting = await find();
        if (waiting.size === 0) break;
        const before = new Date(now().getTime() - FIRST_ATTEMPT_EXPIRY_MS);
        const over = await store.readDeliveriesToSend([...waiting], before);
        const posts = await selectSendable(store, over, now());
        await allEnded((await firstAttempts.start(posts, now)).values());
        if (over.length < waiting.size) await after(POLL_MS);
        Context.current().cancellationSignal.throwIfAborted();
      }
      await store.markGroupsDone(groupsOf(input), ownWorkflowId(), now());
    },
  };
}

/** Replaces `dispatchGroup` in a worker that sends no webhooks. The workflow then uses a delivery worker. */
export async function refuseDispatch(): Promise<never> {
  const message = 'this worker sends no webhooks';
  throw ApplicationFailure.create({ message, type: SENDS_NO_WEBHOOKS, nonRetryable: true });
}

/** Returns what {@link planDeliveries} returns, in turns. */
async function planInTurns(
  events: readonly GroupEvent[],
  endpoints: Claim['endpoints'],
  stored?: ReadonlyMap<string, string>,
): Promise<PlannedDelivery[]> {
  const planned: PlannedDelivery[] = [];
  const turn = beginTurn();
  for (const event of events) {
    planned.push(...planDeliveries([event], endpoints, stored));
    if (turn.isOver()) await turn.next();
  }
  return planned;
}

function isUnsent({ status }: PlannedDelivery): boolean {
  return status !== 'pending';
}

function groupsOf({ groupId, groupIds = [groupId] }: DispatchInput): readonly string[] {
  return groupIds;
}

function ownWorkflowId(): string {
  return Context.current().info.workflowExecution?.workflowId ?? '';
}

function after(ms: number): Promise<false> {
  return new Promise((resolve) => setTimeout(() => resolve(false), ms));
}
