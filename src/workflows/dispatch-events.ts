import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { DispatchActivities } from '../activities/deliveries/dispatch.ts';
import type { DispatchInput } from '../temporal/delivery-messages.ts';

// In the worker that took the workflow's task: without a way over a queue, arrival is a third quicker.
const { dispatchGroup } = proxyLocalActivities<DispatchActivities>({
  startToCloseTimeout: '30 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

const { finishGroup } = proxyActivities<DispatchActivities>({
  heartbeatTimeout: '8 s',
  startToCloseTimeout: '10 min',
  retry: { initialInterval: '500 ms', maximumInterval: '10 s' },
});

/** First attempts of a group of events: most are done in a moment, slow receivers are waited for apart. */
export async function dispatchEvents({ groupId }: DispatchInput): Promise<void> {
  const { unfinished } = await dispatchGroup({ groupId });
  if (unfinished.length > 0) await finishGroup({ groupId, ids: unfinished });
}
