import { proxyActivities, setWorkflowOptions } from '@temporalio/workflow';
import type { NotifyActivities } from '../activities/notify-admins.ts';
import type { NotifyInput } from '../temporal/delivery-messages.ts';
import { moveOn } from './move-on.ts';

const { mailNotices } = proxyActivities<NotifyActivities>({
  heartbeatTimeout: '8 s',
  startToCloseTimeout: '30 min',
  // A mail server may be away for some time; after a day the notice in the screens has to do.
  scheduleToCloseTimeout: '24 h',
  retry: { initialInterval: '10 s', backoffCoefficient: 2, maximumInterval: '30 min' },
});

/** Mails people what has happened: admins that a webhook was disabled, others that a run asks for a human. */
export async function notifyAdmins(input: NotifyInput): Promise<{ mailed: number }> {
  return await mailNotices(input);
}

setWorkflowOptions(moveOn, notifyAdmins);
