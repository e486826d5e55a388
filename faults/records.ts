import type { FeedEvent } from '../src/domain/tasks/feed-events.ts';
import type { TaskState } from '../src/domain/tasks/task-states.ts';
import type { PlannedFault, WebhookName } from './plan-faults.ts';
import type { PlannedEvent } from './plan-events.ts';
import type { PlannedTask } from './plan-tasks.ts';

/*
 * The records that the checks compare after a scenario: responses to callers, requests at receivers, and the contents
 * of the tables, the feed and Temporal. They are plain data, so tests can plant violations. Times are milliseconds
 * since 1970.
 */

/** Types of workflows that may still wait for a retry that is no longer needed (docs/decisions/0018). */
export const WAITING_WORKFLOWS: ReadonlySet<string> = new Set(['webhookDelivery', 'webhookAttempt']);

/** One request about a run, with the response that its caller received. Times are those of `performance.now()`. */
export type CallerRequest = {
  operation: 'submit' | 'poll' | 'pause' | 'continue' | 'cancel';
  sentAt: number;
  /** Null, like `status`, if there was no response. */
  receivedAt: number | null;
  status: number | null;
} & Partial<{
  state: TaskState;
  lastSeq: number;
}>;

/** A submission with all requests of its caller. */
export type TaskRecord = {
  plan: PlannedTask;
  /** The ids in the 201 responses; empty if the caller gave up. */
  ids: string[];
  secret: string | null;
  requests: CallerRequest[];
};

/** The events that a viewer of the channel received, over all its connections. */
export type ViewerRecord = {
  executionId: string;
  client: string;
  connections: number;
  events: FeedEvent[];
  /** When each event arrived, by `performance.now()`. */
  receivedAt: number[];
};

/** A request as it arrived at a receiver, with the status of the response. */
export type RequestRecord = {
  at: number;
  /** `X-Service-Delivery`. */
  delivery: string;
  /** `X-Service-Event`. */
  event: string;
  body: string;
  signature: string | null;
  responseStatus: number;
  /** Requests on one connection have the same number. `connectedAt`: when it was opened. */
  connection: number;
  connectedAt: number;
};

/** A webhook as it was created, and the requests at its receiver. */
export type WebhookRecord = {
  name: WebhookName;
  id: string;
  secret: string;
  requests: RequestRecord[];
};

/** An event, and whether the request with it got a 202. */
export type EventRecord = { event: PlannedEvent; outcome: 'accepted' | 'given up' };

export type RunRow = {
  id: string;
  mark: string | null;
  state: TaskState;
  callback_status: string;
  has_callback: boolean;
  last_seq: number;
  steps: { id: string; status: string; attempt: number }[];
};

export type CallbackRow = {
  execution_id: string;
  attempt: number;
  response_status: number | null;
  failure: string | null;
  reconnected: boolean;
  request_body: string;
};

export type AttemptRow = {
  number: number;
  trigger: string;
  at: number;
  response_status: number | null;
  failure: string | null;
  response_ms: number | null;
  /** Whether the request was sent again because a reused connection was closed. */
  reconnected: boolean;
};

export type DeliveryRow = {
  id: string;
  webhook_id: string;
  event_id: string;
  status: string;
  reason: string | null;
  attempts_count: number;
  /** Null if the payload is no longer kept. */
  body: string | null;
  attempts: AttemptRow[];
};

/** A webhook was disabled or enabled; `at` is the time of the commit. */
export type StatusChange = { webhook_id: string; to: 'disabled' | 'enabled'; at: number };

export type WorkflowRow = { id: string; type: string; status: string };

/** A fault with the times of its start and end; `failure`: why it could not be injected. */
export type InjectedFault = { fault: PlannedFault; from: number; to: number; failure: string | null };

export type ScenarioRecords = {
  tasks: TaskRecord[];
  /** A sentence for each undocumented response. */
  unexpectedResponses: string[];
  runs: RunRow[];
  feed: Map<string, FeedEvent[]>;
  viewers: ViewerRecord[];
  callbacks: { log: CallbackRow[]; requests: RequestRecord[] };
  webhooks: WebhookRecord[];
  events: EventRecord[];
  /** Ids of the events in the table. */
  storedEvents: string[];
  deliveries: DeliveryRow[];
  statusChanges: StatusChange[];
  /** How often each person was notified of one disabling. */
  notifications: { subject: string; user: string; disabledAt: string; count: number }[];
  workflows: WorkflowRow[];
  faults: InjectedFault[];
  /** A sentence for each process that exited unexpectedly. */
  unexpectedExits: string[];
};
