import { proxyActivities, setWorkflowOptions } from '@temporalio/workflow';
import type { NotifyActivities } from '../activities/notify-admins.ts';
import type { NotifyInput } from '../temporal/delivery-messages.ts';
import { autoUpgrade } from './auto-upgrade.ts';

const { mailNotices } = proxyActivities<NotifyActivities>({
  heartbeatTimeout: '8 s',
  startToCloseTimeout: '30 min',
  // A mail server may be down for some time. After a day, only the notice in the screens remains.
  scheduleToCloseTimeout: '24 h',
  retry: { initialInterval: '10 s', backoffCoefficient: 2, maximumInterval: '30 min' },
});

/** Sends mails: to admins about a disabled webhook, to members about a run that needs a person. */
export async function notifyAdmins(input: NotifyInput): Promise<{ mailed: number }> {
  return await mailNotices(input);
}

setWorkflowOptions(autoUpgrade, notifyAdmins);
