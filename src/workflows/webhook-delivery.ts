import {
  ActivityFailure,
  ApplicationFailure,
  proxyActivities,
  setWorkflowOptions,
} from '@temporalio/workflow';
import type { RetryActivities } from '../activities/deliveries/retries.ts';
import type { AttemptInput, DeliveryInput } from '../temporal/delivery-messages.ts';
import { autoUpgrade } from './auto-upgrade.ts';

// Each failure carries the schedule as its `nextRetryDelay`. This policy covers failures that the receiver did not
// cause: a database outage, a crashed worker. The stored records count the failures.
const { attemptDelivery, attemptOnce } = proxyActivities<RetryActivities>({
  heartbeatTimeout: '8 s',
  startToCloseTimeout: '5 min',
  retry: { initialInterval: '1 s', maximumInterval: '30 s' },
});

/** Retries one failed delivery after 1 min, 5 min, 30 min, 2 h and 12 h, each from the previous failure. */
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

setWorkflowOptions(autoUpgrade, webhookDelivery);

/** Makes one attempt outside the schedule: a scheduled retry or a test. */
export async function webhookAttempt(input: AttemptInput): Promise<void> {
  await attemptOnce(input);
}
