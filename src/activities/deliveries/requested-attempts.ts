import { Context } from '@temporalio/activity';
import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import type { DeliveryToSend } from '../../database/webhooks/dispatch.ts';
import { isSettled, isTestSettled, type DeliveryProgress } from '../../domain/webhooks/attempt-conditions.ts';
import type { AttemptTrigger } from '../../domain/webhooks/delivery.ts';
import type { Attempt } from './attempts.ts';
import { PAYLOAD_DELETED, selectSendable } from './sendable-deliveries.ts';

/**
 * The request of an attempt. `attempts` were recorded before it. `isOld`: its delivery was read long before the attempt, so
 * that it is read again.
 */
type Request = { trigger: AttemptTrigger; token: string; attempts: number; isOld: boolean };

/** Creates the function that makes attempts outside the schedule. */
export function createRequestedAttempts({ store, attempt }: { store: DeliveryStore; attempt: Attempt }) {
  /**
   * Makes a manual attempt or a test, unless the delivery has been cancelled, has succeeded since the request, or is a test
   * whose attempt is recorded. If a manual attempt cannot be made, the reason of the delivery says why. Returns whether it
   * is settled; false if no place was free.
   */
  return async (delivery: DeliveryToSend, request: Request, now: () => Date): Promise<boolean> => {
    const { trigger, token, attempts, isOld } = request;
    const isWanted = (current: DeliveryProgress) =>
      !(trigger === 'test' ? isTestSettled : isSettled)(current, attempts);
    if (!isWanted(delivery)) return true;
    const [one] = await selectSendable(store, [delivery], now());
    if (one) {
      const freshMs = isOld ? null : 0;
      const options = { trigger, token, now, freshMs, isWanted, startsRetries: false, ...attemptSignals() };
      return (await attempt(one, options)).kind !== 'no_room';
    }
    if (trigger === 'manual') await store.recordUnmadeRetry(delivery, { why: PAYLOAD_DELETED, at: now() });
    return true;
  };
}

/**
 * Returns the signal of the activity, which ends the wait for a place and aborts the request: when its worker stops, or
 * Temporal has given the activity to another worker.
 */
export function attemptSignals(): { signal: AbortSignal; requestSignal: AbortSignal } {
  const signal = Context.current().cancellationSignal;
  return { signal, requestSignal: signal };
}
