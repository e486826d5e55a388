import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { DispatchActivities } from '../activities/deliveries/dispatch.ts';
import type { DispatchInput } from '../temporal/delivery-messages.ts';

// A local activity runs in the worker that has the workflow task. Without the wait in a task queue, deliveries arrive a
// third faster.
const { dispatchGroup } = proxyLocalActivities<DispatchActivities>({
  startToCloseTimeout: '30 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

const { finishGroup } = proxyActivities<DispatchActivities>({
  heartbeatTimeout: '8 s',
  startToCloseTimeout: '10 min',
  retry: { initialInterval: '500 ms', maximumInterval: '10 s' },
});

/**
 * Makes the first attempts of groups of events. Most end within milliseconds; `finishGroup` waits for slow receivers.
 */
export async function dispatchEvents(groups: DispatchInput): Promise<void> {
  const result = await dispatchGroup(groups);
  if (result.isFinished ?? result.unfinished.length === 0) return;
  await finishGroup('unfinished' in result ? { ...groups, ids: result.unfinished } : groups);
}
