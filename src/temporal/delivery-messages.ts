import type { AttemptTrigger } from '../domain/webhooks/delivery.ts';

/** The names by which clients, workers and the Temporal Web UI know the workflows of webhook deliveries. */
export const DISPATCH_EVENTS_WORKFLOW = 'dispatchEvents';
export const ENDPOINT_BACKLOG_WORKFLOW = 'endpointBacklog';
export const WEBHOOK_DELIVERY_WORKFLOW = 'webhookDelivery';
export const WEBHOOK_ATTEMPT_WORKFLOW = 'webhookAttempt';
export const NOTIFY_ADMINS_WORKFLOW = 'notifyAdmins';
export const MAINTENANCE_WORKFLOW = 'maintenance';

/** Tells a backlog that there is more. */
export const BACKLOG_SIGNAL = 'more';

/** A group of events that came in together; the events themselves stay in the database. */
export type DispatchInput = { groupId: string };
/** The deliveries of one webhook that wait in its backlog. */
export type BacklogInput = { webhookId: string };
/** The retries of one delivery that failed; work of another generation does nothing. */
export type DeliveryInput = { deliveryId: string; generation: number };
/** One attempt beside the schedule; `token` is the id of the wish for it, a UUID of version 7. */
export type AttemptInput = { deliveryId: string; trigger: AttemptTrigger; token: string };
/** What people are to be mailed about: a webhook's disabling, a run that asks for a human. Times are ISO 8601. */
export type NotifyInput =
  | { webhookId: string; disabledAt: string }
  | { executionId: string; escalatedAt: string };
/** `settleSeconds`: how long attempts that are under way may take to be recorded. */
export type MaintenanceInput = { settleSeconds: number };

export const dispatchWorkflowId = (groupId: string): string => `events:${groupId}`;
export const backlogWorkflowId = (webhookId: string): string => `backlog:${webhookId}`;
export const deliveryWorkflowId = ({ deliveryId, generation }: DeliveryInput): string =>
  `delivery:${deliveryId}:${generation}`;
export const attemptWorkflowId = (token: string): string => `attempt:${token}`;
export const notifyWorkflowId = (input: NotifyInput): string =>
  'webhookId' in input
    ? `notify:${input.webhookId}:${input.disabledAt}`
    : `notify:${input.executionId}:${input.escalatedAt}`;
/** The Schedule that starts the maintenance; its executions are named by it and their time. */
export const retentionScheduleId = (taskQueue: string): string => `${taskQueue}-retention`;
