import type { FeedEvent } from '../src/domain/tasks/feed-events.ts';
import type { TaskState } from '../src/domain/tasks/task-states.ts';
import type { Disturbance, WebhookName } from './plan-disturbances.ts';
import type { PlannedEvent } from './plan-events.ts';
import type { PlannedTask } from './plan-tasks.ts';

/*
 * What is held against each other after a story: what callers were told, what receivers got, and what tables, feed
 * and Temporal say. Plain data, so that checks can be tried on planted violations. Times are milliseconds since 1970.
 */

/** Workflows that wait for their time and then find that there is nothing to do any more (docs/decisions/0018). */
export const MAY_WAIT: ReadonlySet<string> = new Set(['webhookDelivery', 'webhookAttempt']);

/** One answer about a run, as its caller got it. */
export type Told = { asked: 'submit' | 'poll' | 'pause' | 'continue' | 'cancel'; status: number } & Partial<{
  state: TaskState;
  lastSeq: number;
}>;

/** A submission with all that its caller was told. */
export type TaskBook = {
  plan: PlannedTask;
  /** The distinct ids that 201 answers named; empty where it was given up. */
  ids: string[];
  secret: string | null;
  told: Told[];
};

/** What a viewer of the channel took, over all its connections. */
export type ViewerBook = { executionId: string; client: string; connections: number; events: FeedEvent[] };

/** A request as it arrived at a receiver, with what was answered. */
export type Arrival = {
  at: number;
  /** `X-Service-Delivery`. */
  delivery: string;
  /** `X-Service-Event`. */
  event: string;
  body: string;
  signature: string | null;
  /** The status it was given. */
  answered: number;
  /** Same number for requests on one connection, and when that was opened. */
  connection: number;
  connectedAt: number;
};

/** A webhook as it was made, and what its receiver got. */
export type WebhookBook = {
  name: WebhookName;
  id: string;
  secret: string;
  arrivals: Arrival[];
};

/** A request with events, and whether it was answered 202. */
export type EventBook = { event: PlannedEvent; outcome: 'taken' | 'given up' };

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
  request_body: string;
};

export type AttemptRow = {
  number: number;
  trigger: string;
  at: number;
  response_status: number | null;
  failure: string | null;
  response_ms: number | null;
};

export type DeliveryRow = {
  id: string;
  webhook_id: string;
  event_id: string;
  status: string;
  reason: string | null;
  attempts_count: number;
  /** Null where the payload is no longer kept. */
  body: string | null;
  attempts: AttemptRow[];
};

/** A change of whether a webhook is sent to; `at` is the time of its commit. */
export type Switching = { webhook_id: string; to: 'disabled' | 'enabled'; at: number };

export type WorkflowRow = { id: string; type: string; status: string };

/** A disturbance as it was made. */
export type Made = { planned: Disturbance; from: number; to: number; failure: string | null };

export type Books = {
  tasks: TaskBook[];
  /** Every answer that no document promises, in words. */
  strangeAnswers: string[];
  runs: RunRow[];
  feed: Map<string, FeedEvent[]>;
  viewers: ViewerBook[];
  callbacks: { log: CallbackRow[]; arrivals: Arrival[] };
  webhooks: WebhookBook[];
  events: EventBook[];
  /** Ids of the events in the table. */
  storedEvents: string[];
  deliveries: DeliveryRow[];
  switchings: Switching[];
  /** How often each person was told of one disabling. */
  notices: { subject: string; user: string; disabledAt: string; count: number }[];
  workflows: WorkflowRow[];
  made: Made[];
  /** Processes that ended though nobody had asked for it, in words. */
  unbidden: string[];
};

/** What one check found. */
export type Line = {
  name: string;
  count: number;
  /**
   * `none`: there must be none. `some`: there must be some, or the story proved nothing. `most`: at most `bound`.
   * `figure`: only told.
   */
  wanted: 'none' | 'some' | 'most' | 'figure';
  bound?: number;
  /** A few of those that were counted. */
  examples: string[];
  note?: string;
};

export function isBroken({ wanted, count, bound = 0 }: Line): boolean {
  if (wanted === 'none') return count !== 0;
  if (wanted === 'some') return count === 0;
  return wanted === 'most' && count > bound;
}

const EXAMPLES = 5;

/** A line that counts what must not be there. */
export function none(name: string, found: readonly string[]): Line {
  return { name, count: found.length, wanted: 'none', examples: found.slice(0, EXAMPLES) };
}

export function some(name: string, count: number): Line {
  return { name, count, wanted: 'some', examples: [] };
}

export function figure(name: string, count: number, note?: string): Line {
  return { name, count, wanted: 'figure', examples: [], ...(note === undefined ? {} : { note }) };
}
