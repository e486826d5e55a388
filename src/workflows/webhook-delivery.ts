import {
  ActivityFailure,
  ApplicationFailure,
  proxyActivities,
  setWorkflowOptions,
} from '@temporalio/workflow';
import type { RetryActivities } from '../activities/deliveries/retries.ts';
import type { AttemptInput, DeliveryInput } from '../temporal/delivery-messages.ts';
import { moveOn } from './move-on.ts';

// The schedule travels with each failure as its `nextRetryDelay`; this policy serves what is not the receiver's
// doing: a database that is away, a worker that died. Failures are counted by their records.
const { attemptDelivery, attemptOnce } = proxyActivities<RetryActivities>({
  heartbeatTimeout: '8 s',
  startToCloseTimeout: '5 min',
  retry: { initialInterval: '1 s', maximumInterval: '30 s' },
});

/** The retries of one delivery that failed: 1 min, 5 min, 30 min, 2 h and 12 h after each failure. */
export async function webhookDelivery(delivery: DeliveryInput): Promise<{ outcome: 'done' | 'failed' }> {
  try {
    await attemptDelivery.executeWithOptions({ summary: `delivery ${delivery.deliveryId}` }, [delivery]);
    return { outcome: 'done' };
  } catch (error) {
    const isLast = error instanceof ActivityFailure && error.cause instanceof ApplicationFailure;
    if (isLast && error.cause.type === 'DeliveryFailed') return { outcome: 'failed' };
    throw error;
  }
}

setWorkflowOptions(moveOn, webhookDelivery);

/** One attempt beside the schedule: by hand, or a test. */
export async function webhookAttempt(input: AttemptInput): Promise<void> {
  await attemptOnce(input);
}
