import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Database } from '../../database/database.ts';
import {
  listBacklog,
  readDeliveriesToSend,
  markUnsent,
  type DeliveryToSend,
} from '../../database/webhooks/dispatch.ts';
import type { AttemptInput, BacklogInput, DeliveryInput } from '../../temporal/delivery-messages.ts';
import { startHeartbeat } from '../heartbeat.ts';
import { engineClock, type Attempt, type EngineTime } from './attempts.ts';
import { asPost } from './planned-deliveries.ts';

export type RetryActivities = ReturnType<typeof createRetryActivities>;

type RetryDependencies = { database: Database; attempt: Attempt; engineTime: EngineTime };

/** Deliveries of a backlog per call, and time in which a call starts new attempts, in milliseconds. */
const BACKLOG_BATCH = 200;
const BACKLOG_MS = 20_000;
/** A due time this close counts as due, in milliseconds. */
const NEAR_MS = 1_000;

/** Creates the activities for all attempts other than the first one in a group. */
export function createRetryActivities({ database, attempt, engineTime }: RetryDependencies) {
  return {
    /**
     * Makes one scheduled attempt of a delivery. Does nothing if the delivery has succeeded, was held, or restarted its
     * schedule since.
     * @throws ApplicationFailure of type `DeliveryFailed`: with the wait before the next attempt, or non-retryable
     * after the last one
     */
    async attemptDelivery(input: DeliveryInput): Promise<void> {
      const stopHeartbeat = startHeartbeat();
      try {
        await attemptOfSchedule(input);
      } finally {
        stopHeartbeat();
      }
    },

    /**
     * Makes one attempt outside the schedule: manual or a test. Skips a delivery that has been cancelled, or has
     * succeeded since the attempt was requested.
     */
    async attemptOnce({ deliveryId, trigger, token }: AttemptInput): Promise<void> {
      const stopHeartbeat = startHeartbeat();
      try {
        const delivery = await find(deliveryId);
        const now = await engineClock(engineTime);
        if (!delivery || isDecidedSince(delivery, token)) return;
        for (const one of asPost(delivery)) {
          await attempt(one, { trigger, waitMs: null, now, startsRetries: false, signal: signal() });
        }
      } finally {
        stopHeartbeat();
      }
    },

    /**
     * Sends the backlog of a webhook for a while, oldest first, with `width` concurrent attempts. Returns whether more
     * deliveries wait, and whether the last attempts succeeded.
     */
    async drainBacklog({ webhookId, width }: BacklogInput & { width: number }) {
      const stopHeartbeat = startHeartbeat();
      try {
        return await drain(webhookId, width);
      } finally {
        stopHeartbeat();
      }
    },
  };

  async function find(id: string): Promise<DeliveryToSend | null> {
    return (await readDeliveriesToSend(database, [id]))[0] ?? null;
  }

  async function attemptOfSchedule({ deliveryId, generation }: DeliveryInput): Promise<void> {
    const delivery = await find(deliveryId);
    if (delivery?.status !== 'retrying' || delivery.generation !== generation) return;
    const now = await engineClock(engineTime);
    // If a worker dies after its attempt was recorded, the retry policy starts the next one too early.
    const early = (delivery.next_attempt_at?.getTime() ?? 0) - now().getTime();
    if (early > NEAR_MS) throw deliveryFailed('the next attempt is not due yet', early);
    const [one] = asPost(delivery);
    if (!one)
      return await markUnsent(
        database,
        [deliveryId],
        'cancelled',
        'the payload was deleted after its retention period',
        now(),
      );
    const options = {
      trigger: 'automatic',
      waitMs: null,
      now,
      startsRetries: false,
      signal: signal(),
    } as const;
    const outcome = await attempt(one, options);
    const result = outcome.kind === 'recorded' ? outcome.result : null;
    if (result?.status === 'failed') throw deliveryFailed('the last attempt failed', null);
    if (result?.status !== 'retrying') return;
    const due = result.next_attempt_at?.getTime() ?? now().getTime();
    throw deliveryFailed(`attempt ${result.number} failed`, Math.max(1, due - now().getTime()));
  }

  async function drain(webhookId: string, width: number): Promise<{ isMore: boolean; isWell: boolean }> {
    const now = await engineClock(engineTime);
    const begun = performance.now();
    const batch = (await listBacklog(database, webhookId, BACKLOG_BATCH)).flatMap(asPost);
    let next = 0;
    let isWell = true;
    const work = async (): Promise<void> => {
      for (let one = batch[next++]; one; one = batch[next++]) {
        if (performance.now() - begun > BACKLOG_MS || signal().aborted) return;
        const options = { trigger: 'automatic', waitMs: null, now, startsRetries: true } as const;
        const outcome = await attempt(one, options);
        if (outcome.kind === 'recorded') isWell = outcome.result?.status === 'succeeded';
      }
    };
    await Promise.all(Array.from({ length: Math.min(width, batch.length) }, work));
    const isMore = (await listBacklog(database, webhookId, 1)).length > 0;
    return { isMore, isWell };
  }
}

/**
 * Returns whether the delivery was cancelled, or has succeeded since the attempt was requested. `token` is a UUID of
 * version 7, so it contains the time of the request.
 */
function isDecidedSince({ status, updated_at: at }: DeliveryToSend, token: string): boolean {
  if (status === 'cancelled') return true;
  const requestedAt = Number.parseInt(token.slice(0, 13).replace('-', ''), 16);
  return status === 'succeeded' && at.getTime() > requestedAt;
}

function signal(): AbortSignal {
  return Context.current().cancellationSignal;
}

/** Creates the failure of a scheduled attempt. `waitMs`: until the next attempt; null if there is none. */
function deliveryFailed(message: string, waitMs: number | null): ApplicationFailure {
  const common = { message, type: 'DeliveryFailed' };
  return ApplicationFailure.create(
    waitMs === null ? { ...common, nonRetryable: true } : { ...common, nextRetryDelay: waitMs },
  );
}
