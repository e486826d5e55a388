import { proxyActivities, sleep } from '@temporalio/workflow';
import type { RetentionActivities } from '../activities/retention.ts';
import type { MaintenanceInput } from '../temporal/delivery-messages.ts';

// Each removal works in batches that can be repeated and interrupted anywhere. The next hour continues with the rest.
const retention = proxyActivities<RetentionActivities>({
  heartbeatTimeout: '1 min',
  startToCloseTimeout: '6 h',
  scheduleToCloseTimeout: '12 h',
  retry: { initialInterval: '5 s', maximumInterval: '5 min' },
});

/**
 * Removes rows past their retention (docs/operations.md) and returns the number of rows for each table. A Schedule
 * starts it every hour.
 */
export async function maintenance({ settleSeconds }: MaintenanceInput) {
  const payloads = await retention.eraseEventPayloads();
  // Without a payload, no attempt begins. After this time, attempts in flight have ended and are recorded.
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
