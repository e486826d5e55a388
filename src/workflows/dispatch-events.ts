import {
  ApplicationFailure,
  proxyActivities,
  proxyLocalActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { DispatchActivities } from '../activities/deliveries/dispatch.ts';
import { SENDS_NO_WEBHOOKS, type DispatchInput } from '../temporal/delivery-messages.ts';
import { siblingQueues } from '../temporal/task-messages.ts';

const BRIEF = {
  startToCloseTimeout: '30 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
} as const;

// A local activity runs in the worker that has the workflow task. Without the wait in a task queue, deliveries arrive a
// third faster.
const { dispatchGroup } = proxyLocalActivities<DispatchActivities>(BRIEF);

/**
 * Makes the first attempts of groups of events. Most end within milliseconds; `finishGroup` waits for slow receivers. The
 * workflow may begin in the API process that accepted the events. If that process dies, a worker of runs continues, which
 * sends no webhooks; a delivery worker then does it.
 */
export async function dispatchEvents(groups: DispatchInput): Promise<void> {
  const taskQueue = siblingQueues(workflowInfo().taskQueue).deliveries;
  const result = await dispatchGroup(groups).catch((error: unknown) => {
    if (!isSentElsewhere(error)) throw error;
    return proxyActivities<DispatchActivities>({ ...BRIEF, taskQueue }).dispatchGroup(groups);
  });
  if (result.isFinished ?? result.unfinished.length === 0) return;
  const { finishGroup } = proxyActivities<DispatchActivities>({
    taskQueue,
    heartbeatTimeout: '8 s',
    startToCloseTimeout: '10 min',
    retry: { initialInterval: '500 ms', maximumInterval: '10 s' },
  });
  await finishGroup('unfinished' in result ? { ...groups, ids: result.unfinished } : groups);
}

/** The SDK passes on the failure of a local activity without an `ActivityFailure` around it. */
function isSentElsewhere(error: unknown): boolean {
  return error instanceof ApplicationFailure && error.type === SENDS_NO_WEBHOOKS;
}
