import type { AttemptTimings, AttemptTrigger, DeliveryStatus } from '../src/domain/webhooks/delivery.ts';
import type { ArtifactNote } from '../src/domain/tasks/artifact.ts';
import type { RunView, Usage } from '../src/domain/tasks/task-run.ts';
import type { TaskState } from '../src/domain/tasks/task-states.ts';
import type { Subscription, WebhookStatus } from '../src/domain/webhooks/webhook.ts';

export type { Usage };

/** What the command line reads of the API's answers. */

export type Submitted = {
  execution_id: string;
  status_url: string;
  websocket_room: string;
  callback_secret: string;
};

export type Rerun = Submitted & { rerun_of: string; rerun_from: string | null };

export type CallbackStatus = 'none' | 'pending' | 'delivered' | 'failed';

export type Listed = {
  execution_id: string;
  project_id: string;
  title: string;
  task_type: string;
  created_at: string;
  callback: { url: string | null; status: CallbackStatus };
} & Pick<RunView, 'state' | 'progress' | 'duration_ms'>;

export type CallbackAttempt = {
  attempt: number;
  attempted_at: string;
  response_status: number | null;
  failure: string | null;
  message: string | null;
  address?: string | null;
  duration_ms: number | null;
  next_attempt_at: string | null;
};

export type Detail = Omit<RunView, 'paused_from'> &
  Omit<Listed, 'callback'> & {
    description: string | null;
    metadata: Record<string, unknown>;
    callback: { url: string | null; status: CallbackStatus; attempts: CallbackAttempt[] };
    status_url: string;
    rerun_of: string | null;
    rerun_from: string | null;
    usage: Usage | null;
    reruns: { execution_id: string; state: TaskState }[];
  };

export type Artifact = ArtifactNote & { step: string | null; agent: string; created_at: string; url: string };

/** A call of a model or a tool, as it ended. */
export type AgentCall = {
  step: string | null;
  attempt: number;
  number: number;
  name: string;
  usage: Usage | null;
  failure: string | null;
  started_at: string;
  duration_ms: number;
};

/** A list that is whole. */
export type Whole<T> = { data: T[] };
/** A list in pages. */
export type Page<T> = { data: T[]; next_cursor: string | null };

/** What became of an event that was sent. */
export type Accepted = { id: string; duplicate: boolean };

export type EventType = {
  event: string;
  description: string;
  schema: unknown;
  /** A whole payload. */
  sample: { data: unknown };
};

export type Webhook = {
  id: string;
  name: string;
  url: string;
  events: Subscription[];
  has_secret: boolean;
  include_secret_header: boolean;
  standard_webhooks: boolean;
  active: boolean;
  status: WebhookStatus;
  consecutive_failures: number;
  disabled_at: string | null;
  disabled_reason: string | null;
  listening: boolean;
  created_at: string;
  updated_at: string;
};

/** How a webhook's attempts went in the last hours. */
export type Stats = {
  hours: { from: string; succeeded: number; failed: number }[];
  total: number;
  succeeded: number;
  failed: number;
  success_rate: number | null;
  last_delivery_at: string | null;
};

export type Delivery = {
  id: string;
  webhook_id: string;
  event_id: string;
  event: string;
  status: DeliveryStatus;
  test: boolean;
  response_status: number | null;
  failure: string | null;
  response_ms: number | null;
  attempts_count: number;
  next_attempt_at: string | null;
  reason: string | null;
  created_at: string;
};

export type DeliveryAttempt = {
  number: number;
  trigger: AttemptTrigger;
  attempted_at: string;
  request: { method: string; url: string; headers: Record<string, string>; body: string | null };
  response: {
    status: number;
    headers: Record<string, string>;
    body: string | null;
    truncated: boolean;
  } | null;
  failure: string | null;
  message?: string | null;
  address: string | null;
  timings: AttemptTimings;
  response_ms: number | null;
};

export type DeliveryDetail = Delivery & { attempts: DeliveryAttempt[] };

/** What filters say to an event. */
export type Verdict = {
  event_id: string;
  event: string;
  timestamp: string;
  verdict: string;
  reason: string | null;
};
