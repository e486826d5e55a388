import { withoutRepeatedSignatures, withoutSignatures } from '../../outbound/webhook-request.ts';
import { callbackStatusOf } from '../../domain/tasks/callback.ts';
import type { RunView, Usage } from '../../domain/tasks/run-schemas.ts';
import type { ListedAttempt } from '../../domain/tasks/listed-attempts.ts';
import { roomOf } from '../../domain/tasks/task-run.ts';
import type { PushAttemptRow } from '../../database/tasks/push.ts';
import type {
  BriefCallbackAttempt,
  CallbackAttemptRow,
  EndedAttempt,
} from '../../database/tasks/callbacks.ts';
import type { Rerun } from '../../database/tasks/reruns.ts';
import { JsonText } from '../http/json-text.ts';
import { viewOfRow } from '../../database/tasks/run-views.ts';
import type { ListedRun, TaskRunRow } from '../../database/tasks/task-runs.ts';

/** Returns the URL to poll a run. */
export function statusUrl(baseUrl: string, executionId: string): string {
  return `${baseUrl}/api/v1/tasks/${executionId}`;
}

/** The public URL, and the readable names of actors. */
type PresenterContext = { baseUrl: string; labelOf: (actor: string) => string };

/** Data of the detail that is in neither the row nor the view. */
type DetailParts = {
  usage: Usage | null;
  attempts: readonly BriefCallbackAttempt[];
  reruns: readonly Rerun[];
};

/** Returns the detail of a run: submitted fields from the row, changing fields from the view. */
export function presentDetail(
  row: TaskRunRow,
  view: RunView,
  { usage, attempts, reruns }: DetailParts,
  { baseUrl, labelOf }: PresenterContext,
) {
  return {
    execution_id: row.id,
    state: view.state,
    project_id: row.project_id,
    title: row.title,
    description: row.description ?? null,
    task_type: row.task_type,
    metadata: new JsonText(row.metadata),
    progress: view.progress,
    steps: view.steps,
    ...presentTiming(row, view),
    output: view.output,
    errors: view.errors,
    escalation: view.escalation,
    callback: {
      url: row.callback_url ?? null,
      status: callbackStatusOf(row),
      attempts: attempts.map(presentAttemptBriefly),
    },
    status_url: statusUrl(baseUrl, row.id),
    websocket_room: roomOf(row.id),
    last_seq: view.last_seq,
    created_by: labelOf(row.created_by),
    rerun_of: row.rerun_of ?? null,
    rerun_from: row.rerun_from ?? null,
    question: view.question,
    usage,
    reruns: reruns.map((rerun) => ({ ...rerun, created_at: rerun.created_at.toISOString() })),
  };
}

/** Returns a run as an entry of a list, from its row alone. */
export function presentListed(row: ListedRun, { baseUrl, labelOf }: PresenterContext) {
  const view = viewOfRow(row);
  return {
    execution_id: row.id,
    state: view.state,
    project_id: row.project_id,
    title: row.title,
    task_type: row.task_type,
    metadata: new JsonText(row.metadata),
    progress: view.progress,
    ...presentTiming(row, view),
    errors: view.errors,
    callback: { url: row.callback_url ?? null, status: callbackStatusOf(row) },
    status_url: statusUrl(baseUrl, row.id),
    websocket_room: roomOf(row.id),
    last_seq: view.last_seq,
    created_by: labelOf(row.created_by),
    rerun_of: row.rerun_of ?? null,
    question: view.question,
  };
}

/** Returns an attempt with its full request and response. `signed`: with the signature of the request. */
export function presentAttempt(row: ListedAttempt<CallbackAttemptRow>, signed: boolean) {
  const { id, execution_id, attempt, trigger } = row;
  return { id, execution_id, attempt, trigger, ...presentRequest(row, signed) };
}

/** Returns an attempt of a push notification, like {@link presentAttempt}. */
export function presentPushAttempt(row: ListedAttempt<PushAttemptRow>, signed: boolean) {
  const { id, execution_id, config_id, seq, attempt } = row;
  return { id, execution_id, config_id, seq, attempt, ...presentRequest(row, signed) };
}

/** The fields that all attempts have. */
type RequestFields = EndedAttempt &
  Pick<ListedAttempt<CallbackAttemptRow>, 'url' | 'request_headers' | 'request_body' | 'attempted_at'>;

function presentRequest(row: RequestFields, signed: boolean) {
  const stored = { headers: row.response_headers ?? null, body: row.response_body ?? null };
  const response = signed ? stored : withoutRepeatedSignatures(stored, row.request_headers);
  return {
    url: row.url,
    request_headers: signed ? row.request_headers : withoutSignatures(row.request_headers),
    request_body: row.request_body,
    response_status: row.response_status ?? null,
    response_headers: response.headers,
    response_body: response.body,
    failure: row.failure ?? null,
    message: row.message ?? null,
    address: row.address ?? null,
    duration_ms: row.duration_ms ?? null,
    attempted_at: row.attempted_at.toISOString(),
    completed_at: row.completed_at?.toISOString() ?? null,
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
    reconnected: row.reconnected,
  };
}

function presentAttemptBriefly(row: BriefCallbackAttempt) {
  return {
    attempt: row.attempt,
    trigger: row.trigger,
    attempted_at: row.attempted_at.toISOString(),
    response_status: row.response_status ?? null,
    failure: row.failure ?? null,
    message: row.message ?? null,
    duration_ms: row.duration_ms ?? null,
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
  };
}

function presentTiming(row: ListedRun, view: RunView) {
  return {
    created_at: row.created_at.toISOString(),
    started_at: view.started_at,
    paused_at: view.paused_at,
    paused_by: view.paused_by,
    paused_ms: view.paused_ms,
    completed_at: view.completed_at,
    duration_ms: view.duration_ms,
  };
}
