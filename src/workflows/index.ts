/** Everything a worker that runs workflows must know; the entry of the workflow bundle. */
export { dispatchEvents } from './dispatch-events.ts';
export { endpointBacklog } from './endpoint-backlog.ts';
export { maintenance } from './maintenance.ts';
export { notifyAdmins } from './notify-admins.ts';
export { taskCallback } from './task-callback.ts';
export { taskRun } from './task-run.ts';
export { webhookAttempt, webhookDelivery } from './webhook-delivery.ts';
