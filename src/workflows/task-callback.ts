import {
  ActivityFailure,
  proxyActivities,
  proxyLocalActivities,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { CallbackActivities } from '../activities/send-callback.ts';
import type { RunRecords } from '../activities/run-records.ts';
import { queuesBeside } from '../temporal/task-messages.ts';
import { moveOn } from './move-on.ts';

const { giveUpCallback } = proxyLocalActivities<RunRecords>({
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

/**
 * Sends the callback of a run that has ended: 3 attempts in all, 1 s and 4 s apart (docs/callbacks.md). Its
 * outcome is in the audit log and in the run's row; it never throws for a receiver that does not answer.
 */
export async function sendCallbackOf(executionId: string): Promise<void> {
  const { sendCallback } = proxyActivities<CallbackActivities>({
    taskQueue: queuesBeside(workflowInfo().taskQueue).callbacks,
    // An attempt is limited by its sender; these notice a sender that has died.
    startToCloseTimeout: '30 s',
    heartbeatTimeout: '5 s',
    // Not counted here: an outage of the database or a crashed worker uses up calls without an attempt. The
    // activity counts by the audit log, ends itself after the last one, and says when the next one is due.
    retry: { initialInterval: '1 s', maximumInterval: '5 s' },
    scheduleToCloseTimeout: '24 h',
  });
  try {
    await sendCallback({ executionId });
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    await giveUpCallback(executionId);
  }
}

/** Sends the callback of a run whose own workflow was ended from outside (timed out in the engine). */
export async function taskCallback(input: { executionId: string }): Promise<void> {
  await sendCallbackOf(input.executionId);
}

setWorkflowOptions(moveOn, taskCallback);
