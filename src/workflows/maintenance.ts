import { proxyActivities, sleep } from '@temporalio/workflow';
import type { RetentionActivities } from '../activities/retention.ts';
import type { MaintenanceInput } from '../temporal/delivery-messages.ts';

// Each is done in batches that can be repeated and cut off anywhere; what is left is the next hour's.
const retention = proxyActivities<RetentionActivities>({
  heartbeatTimeout: '1 min',
  startToCloseTimeout: '6 h',
  scheduleToCloseTimeout: '12 h',
  retry: { initialInterval: '5 s', maximumInterval: '5 min' },
});

/** Removes what is kept no longer (docs/operations.md); answers how many rows of each. Every hour, by a Schedule. */
export async function maintenance({ settleSeconds }: MaintenanceInput) {
  const payloads = await retention.eraseEventPayloads();
  // Without its payload nothing is sent; what was under way is over and recorded by then.
  await sleep(settleSeconds * 1_000);
  const answers = await retention.eraseAnswers();
  const skipped = await retention.removeSkipped();
  const deliveries = await retention.removeDeliveries();
  const events = await retention.removeEvents();
  const groups = await retention.removeGroups();
  const notifications = await retention.removeNotifications();
  const webhooks = await retention.removeDeletedWebhooks();
  return { payloads, answers, skipped, deliveries, events, groups, notifications, webhooks };
}
