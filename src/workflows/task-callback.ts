import {
  ActivityFailure,
  proxyActivities,
  proxyLocalActivities,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { CallbackActivities } from '../activities/send-callback.ts';
import type { RunRecords } from '../activities/run-records.ts';
import { siblingQueues, type CallbackRetry } from '../temporal/task-messages.ts';
import { autoUpgrade } from './auto-upgrade.ts';

const { giveUpCallback } = proxyLocalActivities<RunRecords>({
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

/** Returns the activities that make the attempts of callbacks. */
function callbackActivities() {
  return proxyActivities<CallbackActivities>({
    taskQueue: siblingQueues(workflowInfo().taskQueue).callbacks,
    // The HTTP client limits an attempt. These timeouts detect a worker that died.
    startToCloseTimeout: '30 s',
    heartbeatTimeout: '5 s',
    // Attempts are not counted here, since a database outage or a crashed worker uses up activity attempts without
    // sending. The activity counts by the audit log, stops after the last attempt, and says when the next one is due.
    retry: { initialInterval: '1 s', maximumInterval: '5 s' },
    scheduleToCloseTimeout: '24 h',
  });
}

/**
 * Sends the callback of an ended run: 3 attempts in all, 1 s and 4 s apart (docs/callbacks.md). The audit log and the
 * run's row contain the outcome. Never throws because of a receiver that does not respond.
 */
export async function sendCallbackOf(executionId: string): Promise<void> {
  try {
    await callbackActivities().sendCallback({ executionId });
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    await giveUpCallback(executionId);
  }
}

/** Sends the callback of a run whose workflow timed out in Temporal. */
export async function taskCallback(input: { executionId: string }): Promise<void> {
  await sendCallbackOf(input.executionId);
}

/** Makes one more attempt of a failed callback, which somebody requested. A failure changes nothing else. */
export async function callbackRetry({ executionId, retryId }: CallbackRetry): Promise<void> {
  try {
    await callbackActivities().retryCallback({ executionId, retryId });
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    await giveUpCallback(executionId, retryId);
  }
}

setWorkflowOptions(autoUpgrade, taskCallback);
setWorkflowOptions(autoUpgrade, callbackRetry);
