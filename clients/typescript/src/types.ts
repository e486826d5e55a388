import type { components, operations } from './generated/api.ts';
import type { EVENT_KINDS, PROBLEM_CODES, TASK_STATES, TERMINAL_STATES } from './vocabulary.ts';

/*
 * Public names for the schemas of the API. `generated/api.ts` is generated from the OpenAPI document of the service.
 * The types are interfaces because editors show an interface by its name.
 */

type Schemas = components['schemas'];
type Of<Name extends keyof Schemas> = Schemas[Name];
type QueryOf<Name extends keyof operations> = NonNullable<operations[Name]['parameters']['query']>;

export type TaskState = (typeof TASK_STATES)[number];
export type TerminalState = (typeof TERMINAL_STATES)[number];
export type EventKind = (typeof EVENT_KINDS)[number];
export type ProblemCode = (typeof PROBLEM_CODES)[number];

export interface TaskSubmission extends Of<'TaskSubmission'> {}
export interface TaskSubmitted extends Of<'TaskSubmitted'> {}
export interface TaskRerun extends Of<'TaskRerun'> {}
export interface Task extends Of<'TaskDetail'> {}
export interface ListedTask extends Of<'TaskListed'> {}
export type FeedEvent = Schemas['FeedEvent'];
export interface CallbackAttempt extends Of<'CallbackAttempt'> {}
export interface AgentCall extends Of<'AgentCall'> {}
export interface Artifact extends Of<'Artifact'> {}
export interface Token extends Of<'Token'> {}
export interface Webhook extends Of<'Webhook'> {}
export interface WebhookPlan extends Of<'WebhookPlan'> {}
export interface WebhookEdit extends Of<'WebhookEdit'> {}
export interface SecretRotation extends Of<'SecretRotation'> {}
export interface RotatedWebhook extends Of<'RotatedWebhook'> {}
export interface TestAttempt extends Of<'TestAttempt'> {}
export interface Recovery extends Of<'Recovery'> {}
export interface Recovered extends Of<'Recovered'> {}
export interface FilterPreviewRequest extends Of<'FilterPreviewRequest'> {}
export interface FilterPreview extends Of<'FilterPreview'> {}
export interface WebhookStats extends Of<'WebhookStats'> {}
export interface ListedDelivery extends Of<'ListedDelivery'> {}
export interface Delivery extends Of<'Delivery'> {}
export interface DeliveryDetail extends Of<'DeliveryDetail'> {}
export interface DeliveryRetry extends Of<'DeliveryRetry'> {}
export interface ProblemBody extends Of<'Problem'> {}
/** One error in a request, with a `pointer` into the body (RFC 6901) or the name of a `parameter`. */
export type MemberError = NonNullable<ProblemBody['errors']>[number];

/** Filters a list of tasks. `metadata` selects the tasks whose metadata has all the given fields with equal text values. */
export type TaskFilter = Omit<QueryOf<'listTasks'>, 'cursor'> & { metadata?: Record<string, string> };
export type CallFilter = Omit<QueryOf<'listTaskCalls'>, 'cursor'>;
export type DeliveryFilter = Omit<QueryOf<'listDeliveries'>, 'cursor'>;
export type WebhookListing = Omit<QueryOf<'listWebhooks'>, 'cursor'>;
export type StatsWish = QueryOf<'getWebhookStats'>;
export type EventTypes = operations['listEventTypes']['responses'][200]['content']['application/json'];

/** A test of a webhook with the sample of a kind, or with other `data` of the kind. */
export interface TestDelivery {
  event: EventKind;
  data?: Record<string, unknown>;
  /** Sends exactly the request that was previewed, once. */
  draft?: string;
}

/** An event to send. Without an `id`, the client generates one, so that Baton recognizes a repeated event. */
export type OutgoingEvent = {
  id?: string | undefined;
  event: EventKind;
  /** ISO 8601. Default: the time at which Baton receives the event. */
  timestamp?: string | undefined;
  data: Record<string, unknown>;
};
/** An event that Baton has stored durably. `duplicate` is true if Baton had stored it before. */
export type TakenEvent = { id: string; duplicate: boolean };

/** The options of every call. Aborting the signal rejects the call with the signal's reason. */
export type CallOptions = { signal?: AbortSignal | undefined };
/** A request with the same key and body returns the first response again for 24 hours. Default: a new key for each call. */
export type IdempotentOptions = CallOptions & { idempotencyKey?: string | undefined };
/** A rerun from a step; `answer`: to the escalation of the task. */
export type RerunOptions = IdempotentOptions & {
  fromStep?: string | undefined;
  answer?: string | undefined;
};
