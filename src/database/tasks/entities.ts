import { defineEntity, p, Type } from '@mikro-orm/core';
import type { Writer } from '../../domain/tasks/run-change.ts';
import type { Question, Escalation, RunError, Step } from '../../domain/tasks/run-schemas.ts';
import type { CallbackStatus, CallbackTrigger } from '../../domain/tasks/callback.ts';
import type { TaskType } from '../../domain/tasks/task-run.ts';
import type { FeedEventType } from '../../domain/tasks/feed-events.ts';
import type { ActiveState, TaskState } from '../../domain/tasks/task-states.ts';

/** The tables of tasks. Property names are the column names and the names in the API. Migrations create the tables. */

/** A column of type `json`, read as its text. */
class JsonColumnText extends Type<string, string> {
  override convertToJSValueSQL(column: string): string {
    return `${column}::text`;
  }

  override getColumnType(): string {
    return 'json';
  }
}

export const TaskRun = defineEntity({
  name: 'TaskRun',
  tableName: 'task_runs',
  properties: {
    /** The execution_id, which is the workflow id as well. */
    id: p.uuid().primary(),
    workspace_id: p.uuid(),
    project_id: p.uuid(),
    created_by: p.text(),
    title: p.text(),
    description: p.text().nullable(),
    task_type: p.text().$type<TaskType>(),
    /** A JSON text, with the fields in the submitted order. */
    metadata: p.type(JsonColumnText),
    callback_url: p.text().nullable(),
    /** Sealed, see src/security/sealing.ts. */
    callback_secret: p.text(),
    created_at: p.datetime(),
    updated_at: p.datetime(),
    state: p.text().$type<TaskState>(),
    paused_from: p.text().$type<ActiveState>().nullable(),
    steps: p.json<Step[]>(),
    started_at: p.datetime().nullable(),
    paused_at: p.datetime().nullable(),
    paused_by: p.text().nullable(),
    paused_ms: p.bigint('number'),
    completed_at: p.datetime().nullable(),
    duration_ms: p.bigint('number').nullable(),
    output: p.json<Record<string, unknown>>().nullable(),
    errors: p.json<RunError[]>(),
    escalation: p.json<Escalation>().nullable(),
    /** The last seq given to an event of this run. */
    last_seq: p.integer(),
    /** The last seq that the columns above already include. */
    view_seq: p.integer(),
    /** The workflow task that wrote the run last; null if it was not written by one, or only by older versions. */
    last_writer: p.json().$type<Writer>().nullable(),
    /** A pause made in the Temporal Web UI that is not known to be over. */
    engine_paused_at: p.datetime().nullable(),
    /** Whether the pause was signalled to the workflow. */
    engine_pause_signalled: p.boolean(),
    callback_status: p.text().$type<CallbackStatus>(),
    /** The callback's body, created once when the run ended; null before that and without a callback. */
    callback_body: p.text().nullable(),
    /** The manual retry that was requested and has not ended. `callback_status` stays `failed` until it succeeds. */
    callback_retry_id: p.uuid().nullable(),
    /** The run that this one reruns, and from which step; null if that run was erased, or this is no rerun. */
    rerun_of: p.uuid().nullable(),
    rerun_from: p.text().nullable(),
    /** The question of an agent while the run is paused for the answer. */
    question: p.json<Question>().nullable(),
  },
});

export const TaskEvent = defineEntity({
  name: 'TaskEvent',
  tableName: 'task_events',
  properties: {
    execution_id: p.uuid().primary(),
    seq: p.integer().primary(),
    key: p.text(),
    type: p.text().$type<FeedEventType>(),
    at: p.datetime(),
    data: p.json<Record<string, unknown>>(),
  },
});

/** Returns the columns that the attempts of callbacks and of push notifications have: the request and its result. */
function attemptColumns() {
  return {
    url: p.text(),
    request_headers: p.json<Record<string, string>>(),
    request_body: p.text(),
    response_status: p.integer().nullable(),
    response_headers: p.json<Record<string, string>>().nullable(),
    /** The first 16 KiB of the response. */
    response_body: p.text().nullable(),
    failure: p.text().nullable(),
    message: p.text().nullable(),
    address: p.text().nullable(),
    duration_ms: p.integer().nullable(),
    attempted_at: p.datetime(),
    completed_at: p.datetime().nullable(),
    next_attempt_at: p.datetime().nullable(),
    /** Whether the request was sent again because the receiver had closed a reused connection. */
    reconnected: p.boolean(),
  };
}

/** The audit log of callbacks, with its name from docs/how-it-works.md. */
export const CallbackAttempt = defineEntity({
  name: 'CallbackAttempt',
  tableName: 'workflow_webhook_deliveries',
  properties: {
    id: p.uuid().primary(),
    execution_id: p.uuid(),
    attempt: p.integer(),
    ...attemptColumns(),
    trigger: p.text().$type<CallbackTrigger>(),
  },
});

/** Where the updates of a run are sent as push notifications of A2A. */
export const PushConfig = defineEntity({
  name: 'PushConfig',
  tableName: 'push_configs',
  properties: {
    execution_id: p.uuid().primary(),
    id: p.text().primary(),
    url: p.text(),
    /** The token and the header `Authorization` as JSON, sealed. */
    secrets: p.text(),
    /** The last event of the feed that was delivered, or whose attempts have failed. */
    sent_seq: p.integer(),
    /** Up to this event, no event after `sent_seq` causes a notification. */
    seen_seq: p.integer().default(0),
    /** Whether the end of the run is settled. */
    is_over: p.boolean(),
    /** Until then, a workflow sends the notifications. */
    claimed_until: p.datetime().nullable(),
    created_at: p.datetime(),
  },
});

/** The log of push notifications. Secrets in the headers are masked. */
export const PushAttempt = defineEntity({
  name: 'PushAttempt',
  tableName: 'push_attempts',
  properties: {
    id: p.uuid().primary(),
    execution_id: p.uuid(),
    config_id: p.text(),
    /** The event of the feed that the notification is about. */
    seq: p.integer(),
    attempt: p.integer(),
    ...attemptColumns(),
  },
});

export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_keys',
  properties: {
    project_id: p.uuid().primary(),
    key: p.text().primary(),
    /** The credential that used the key first; null: any credential of the project. */
    actor: p.text().nullable(),
    /** SHA-256 over method, path and body, hex. */
    request_hash: p.text(),
    /** The first response, sealed; null while the first request is in progress. */
    answer: p.text().nullable(),
    created_at: p.datetime(),
  },
});
