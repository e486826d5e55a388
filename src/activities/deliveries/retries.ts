import { ApplicationFailure, Context } from '@temporalio/activity';
import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import type { DeliveryToSend } from '../../database/webhooks/dispatch.ts';
import { countAttemptsAtRequest } from '../../domain/webhooks/attempt-conditions.ts';
import { placeWaitMs } from '../../domain/common/retry-schedules.ts';
import type { AttemptInput, BacklogInput, DeliveryInput } from '../../temporal/delivery-messages.ts';
import { startHeartbeat } from '../heartbeat.ts';
import { allEnded } from './all-ended.ts';
import { engineClock, refusalOf, type Attempt, type EngineTime } from './attempts.ts';
import type { Post } from './post.ts';
import { attemptSignals, createRequestedAttempts } from './requested-attempts.ts';
import { selectSendable } from './sendable-deliveries.ts';

export type RetryActivities = ReturnType<typeof createRetryActivities>;

/** `isMore` and `isWell`: see `drainBacklog`. `isCrowded` is missing in results of previous versions. */
type BacklogRound = { isMore: boolean; isWell: boolean; isCrowded?: boolean };

export type RetryDependencies = { store: DeliveryStore; attempt: Attempt; engineTime: EngineTime };

/** Deliveries of a backlog per call, and time in which a call starts new attempts, in milliseconds. */
const BACKLOG_BATCH = 200;
const BACKLOG_MS = 20_000;
/** A due time this close counts as due, in milliseconds. */
const NEAR_MS = 1_000;

/**
 * Longest wait of an attempt without a place until it tries again, in milliseconds. Someone waits for the response to a
 * test.
 */
const PLACE_WAIT_MS = 30_000;
const TEST_PLACE_WAIT_MS = 2_000;

/** Creates the activities for all attempts other than the first one in a group. */
export function createRetryActivities({ store, attempt, engineTime }: RetryDependencies) {
  const attemptRequested = createRequestedAttempts({ store, attempt });

  return {
    /**
     * Makes one scheduled attempt of a delivery. Does nothing if the delivery has succeeded, was held, or restarted its
     * schedule since.
     * @throws ApplicationFailure of type `DeliveryFailed`: with the wait before the next attempt, or non-retryable
     * after the last one; of type `NoFreePlace` with the wait before the next try
     */
    async attemptDelivery(input: DeliveryInput): Promise<void> {
      using _heartbeat = startHeartbeat();
      await attemptOfSchedule(input);
    },

    /**
     * Makes one attempt outside the schedule: a test, a scheduled retry, or a manual retry of a previous version. Skips a
     * delivery that has been cancelled, or has succeeded since the attempt was requested, a scheduled retry that was
     * cancelled or replaced, and an attempt that is recorded already. If a manual attempt cannot be made, the reason of the
     * delivery says why.
     * @throws ApplicationFailure of type `NoFreePlace` with the wait before the next try
     */
    async attemptOnce(input: AttemptInput): Promise<void> {
      using _heartbeat = startHeartbeat();
      if (!input.scheduled) return await attemptOutsideSchedule(input);
      if (await store.startScheduledRetry(input.token)) await attemptOutsideSchedule(input);
      await store.endScheduledRetry(input.token);
    },

    /**
     * Sends the backlog of a webhook for a while, oldest first, with `width` concurrent attempts. Returns whether more
     * deliveries wait, whether the last attempts succeeded, and whether no place was free for any attempt.
     */
    async drainBacklog({ webhookId, width }: BacklogInput & { width: number }): Promise<BacklogRound> {
      using _heartbeat = startHeartbeat();
      return await drain(webhookId, width);
    },
  };

  async function find(id: string): Promise<DeliveryToSend | null> {
    return (await store.readDeliveriesToSend([id]))[0] ?? null;
  }

  async function attemptOutsideSchedule(input: AttemptInput): Promise<void> {
    const { deliveryId, trigger, token } = input;
    const delivery = await find(deliveryId);
    const now = await engineClock(engineTime);
    if (!delivery) return;
    const { attempts_count: count, updated_at: changedAt } = delivery;
    const attempts = input.attempts ?? countAttemptsAtRequest(count, changedAt, token);
    if (await attemptRequested(delivery, { trigger, token, attempts, isOld: false }, now)) return;
    throw noFreePlace(trigger === 'test' ? TEST_PLACE_WAIT_MS : PLACE_WAIT_MS);
  }

  async function attemptOfSchedule({ deliveryId, generation }: DeliveryInput): Promise<void> {
    const delivery = await find(deliveryId);
    if (delivery?.status !== 'retrying' || delivery.generation !== generation) return;
    const now = await engineClock(engineTime);
    // If a worker dies after its attempt was recorded, the retry policy starts the next one too early.
    const early = (delivery.next_attempt_at?.getTime() ?? 0) - now().getTime();
    if (early > NEAR_MS) throw deliveryFailed('the next attempt is not due yet', early);
    const [one] = await selectSendable(store, [delivery], now());
    if (!one) return;
    const outcome = await attempt(one, {
      trigger: 'automatic',
      now,
      startsRetries: false,
      ...attemptSignals(),
    });
    if (outcome.kind === 'no_room') throw noFreePlace(PLACE_WAIT_MS);
    // An attempt of a frozen worker may have been recorded after the first read. Then the schedule continues with the next one.
    if (outcome.kind === 'unsent') return await attemptOfSchedule({ deliveryId, generation });
    const result = outcome.kind === 'recorded' ? outcome.result : null;
    if (result?.status === 'failed') throw deliveryFailed('the last attempt failed', null);
    if (result?.status !== 'retrying') return;
    const due = result.next_attempt_at?.getTime() ?? now().getTime();
    throw deliveryFailed(`attempt ${result.number} failed`, Math.max(1, due - now().getTime()));
  }

  async function drain(webhookId: string, width: number): Promise<BacklogRound> {
    const now = await engineClock(engineTime);
    const begun = performance.now();
    const backlog = await store.listBacklog(webhookId, BACKLOG_BATCH);
    const sendable = await selectSendable(store, backlog, now());
    const queue = await selectAllowed(webhookId, sendable, now());
    const { signal } = attemptSignals();
    const options = { trigger: 'automatic', now, freshMs: null, startsRetries: true, signal } as const;
    let isWell = true;
    let attempts = 0;
    let isCrowded = false;
    const work = async (): Promise<void> => {
      for (let one = queue.shift(); one; one = queue.shift()) {
        if (performance.now() - begun > BACKLOG_MS || signal.aborted) return;
        const outcome = await attempt(one, options);
        if (outcome.kind === 'no_room') {
          isCrowded = true;
          queue.unshift(one);
          return;
        }
        attempts += 1;
        if (outcome.kind === 'recorded') isWell = outcome.result?.status === 'succeeded';
      }
    };
    await allEnded(Array.from({ length: Math.min(width, queue.length) }, work));
    const isMore = (await store.listBacklog(webhookId, 1)).length > 0;
    return { isMore, isWell, isCrowded: isCrowded && attempts === 0 };
  }

  /**
   * Returns these deliveries, or none if their webhook may not get any, after recording why for all together. Each attempt
   * would find out by itself, but would record it in a statement of its own: thousands after a webhook with a long backlog
   * was deleted.
   */
  async function selectAllowed(webhookId: string, deliveries: Post[], now: Date): Promise<Post[]> {
    if (deliveries.length === 0) return [];
    const refusal = refusalOf((await store.readTargets([webhookId])).get(webhookId) ?? null);
    if (!refusal) return deliveries;
    const [status, reason] = refusal;
    await store.markUnsent(deliveries, status, reason, now);
    return [];
  }
}

/**
 * Creates the failure of an attempt that got no place. A timer of Temporal waits for the next try, so that the attempt
 * occupies no activity slot while it waits.
 */
function noFreePlace(mostMs: number): ApplicationFailure {
  const nextRetryDelay = placeWaitMs(Context.current().info.attempt, mostMs, Math.random());
  return ApplicationFailure.create({ message: 'no place was free', type: 'NoFreePlace', nextRetryDelay });
}

/** Creates the failure of a scheduled attempt. `waitMs`: until the next attempt; null if there is none. */
function deliveryFailed(message: string, waitMs: number | null): ApplicationFailure {
  const common = { message, type: 'DeliveryFailed' };
  return ApplicationFailure.create(
    waitMs === null ? { ...common, nonRetryable: true } : { ...common, nextRetryDelay: waitMs },
  );
}
