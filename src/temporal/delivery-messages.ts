import type { AttemptTrigger } from '../domain/webhooks/delivery.ts';

/** Names of the workflows of webhook deliveries, for clients, workers and the Temporal Web UI. */
export const DISPATCH_EVENTS_WORKFLOW = 'dispatchEvents';
export const ENDPOINT_BACKLOG_WORKFLOW = 'endpointBacklog';
export const MANUAL_RETRIES_WORKFLOW = 'manualRetries';
export const WEBHOOK_DELIVERY_WORKFLOW = 'webhookDelivery';
export const WEBHOOK_ATTEMPT_WORKFLOW = 'webhookAttempt';
export const NOTIFY_ADMINS_WORKFLOW = 'notifyAdmins';
export const MAINTENANCE_WORKFLOW = 'maintenance';

/** The type of the failure of a dispatch in a worker that sends no webhooks. */
export const SENDS_NO_WEBHOOKS = 'SendsNoWebhooks';

/** Signals the workflow of a backlog, or of manual retries, that there are more. */
export const BACKLOG_SIGNAL = 'more';

/**
 * Groups of events, oldest first; the events themselves stay in the database. `groupId` is the first of `groupIds`:
 * workers of previous versions dispatch only this one.
 */
export type DispatchInput = { groupId: string; groupIds?: string[] };
/** The webhook whose backlog is sent, or whose manual retries are made. */
export type BacklogInput = { webhookId: string };
/** The retries of one failed delivery. Nothing happens if the delivery has another generation by now. */
export type DeliveryInput = { deliveryId: string; generation: number };
/**
 * One attempt outside the schedule. `token` is the id of the request, a UUID of version 7. `attempts` is the number of
 * recorded attempts of the delivery at the time of the request; it is missing in requests to previous versions. A
 * `scheduled` attempt is made only if the database has it as a scheduled retry with this token.
 */
export type AttemptInput = {
  deliveryId: string;
  trigger: AttemptTrigger;
  token: string;
  attempts?: number;
  scheduled?: true;
};
/** The reason of a mail: a disabled webhook, an escalated run, or a question of an agent. Times are ISO 8601. */
export type NotifyInput =
  | { webhookId: string; disabledAt: string }
  | { executionId: string; escalatedAt: string }
  | { executionId: string; askedAt: string };
/** `settleSeconds`: time for attempts in flight to be recorded. */
export type MaintenanceInput = { settleSeconds: number };

export const dispatchWorkflowId = (groupId: string): string => `events:${groupId}`;
export const backlogWorkflowId = (webhookId: string): string => `backlog:${webhookId}`;
export const manualRetriesWorkflowId = (webhookId: string): string => `retries:${webhookId}`;
export const deliveryWorkflowId = ({ deliveryId, generation }: DeliveryInput): string =>
  `delivery:${deliveryId}:${generation}`;
export const attemptWorkflowId = (token: string): string => `attempt:${token}`;
export function notifyWorkflowId(input: NotifyInput): string {
  if ('webhookId' in input) return `notify:${input.webhookId}:${input.disabledAt}`;
  return `notify:${input.executionId}:${'askedAt' in input ? input.askedAt : input.escalatedAt}`;
}
/**
 * Returns the id of the Schedule that starts the maintenance. Temporal names its workflows by the id and their time.
 */
export const retentionScheduleId = (taskQueue: string): string => `${taskQueue}-retention`;

/**
 * Priorities of workflows and their activities in Temporal's task queue: 1 comes first, 3 is the default. A thousand
 * manual retries of one workspace must not delay the events of another one, and a person waits for the response to a
 * test. Servers before 1.28 ignore them.
 */
export const PRIORITIES = { dispatch: 2, test: 2, retries: 3, attempt: 4, backlog: 4 } as const;
