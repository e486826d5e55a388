import { ActivityFailure, proxyActivities, setWorkflowOptions, workflowInfo } from '@temporalio/workflow';
import type { PushActivities } from '../activities/push-notifications.ts';
import { siblingQueues, type Push } from '../temporal/task-messages.ts';
import { autoUpgrade } from './auto-upgrade.ts';

/** Attempts in one workflow. If there are more, the next one sends them. */
const MAX_ATTEMPTS = 200;

/**
 * Sends the push notifications of a run to one address that were not sent, one after another, each with the schedule of
 * callbacks (docs/a2a.md). The log contains the outcome.
 */
export async function pushNotifications(push: Push): Promise<void> {
  const { sendPush } = proxyActivities<PushActivities>({
    taskQueue: siblingQueues(workflowInfo().taskQueue).callbacks,
    // As for callbacks: the HTTP client limits an attempt, and the log counts the attempts.
    startToCloseTimeout: '30 s',
    heartbeatTimeout: '5 s',
    retry: { initialInterval: '1 s', maximumInterval: '5 s' },
    scheduleToCloseTimeout: '1 h',
  });
  try {
    for (let made = 0; made < MAX_ATTEMPTS; made += 1) if ((await sendPush(push)) === 'done') return;
  } catch (error) {
    // The reconciler starts another workflow while notifications are left.
    if (!(error instanceof ActivityFailure)) throw error;
  }
}

setWorkflowOptions(autoUpgrade, pushNotifications);
