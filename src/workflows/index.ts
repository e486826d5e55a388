/** Entry of the workflow bundle of the service. */
export { dispatchEvents } from './dispatch-events.ts';
export { endpointBacklog, manualRetries } from './endpoint-backlog.ts';
export { maintenance } from './maintenance.ts';
export { notifyAdmins } from './notify-admins.ts';
export { callbackRetry, taskCallback } from './task-callback.ts';
export { pushNotifications } from './push-notifications.ts';
export { taskRun } from './task-run.ts';
export { webhookAttempt, webhookDelivery } from './webhook-delivery.ts';
