import { defineEntity, p } from '@mikro-orm/core';
import type { Role, Scope } from '../domain/access.ts';
import type { Question } from '../domain/question.ts';
import type { AttemptTimings } from '../domain/attempt-timings.ts';
import type { AttemptTrigger, DeliveryStatus } from '../domain/delivery.ts';
import type { EventKind } from '../domain/event-kinds.ts';
import type { FailureKind } from '../domain/failure-kinds.ts';
import type { FeedEventType } from '../domain/feed-events.ts';
import type { Escalation, RunError, Step, TaskType } from '../domain/task-run.ts';
import type { ActiveState, TaskState } from '../domain/task-states.ts';
import type { Subscription } from '../domain/webhook.ts';

/**
 * The tables, one entity each. Property names are the column names, and both are the names of the API.
 * The tables themselves are made by the migrations alone, never by a schema updater.
 */

export const Workspace = defineEntity({
  name: 'Workspace',
  tableName: 'workspaces',
  properties: { id: p.uuid().primary(), name: p.text(), created_at: p.datetime() },
});

export const Project = defineEntity({
  name: 'Project',
  tableName: 'projects',
  properties: {
    id: p.uuid().primary(),
    workspace_id: p.uuid(),
    /** Short upper-case key, unique in the workspace, as in issue keys. */
    key: p.text(),
    name: p.text(),
    created_at: p.datetime(),
  },
});

export const User = defineEntity({
  name: 'User',
  tableName: 'users',
  properties: {
    id: p.uuid().primary(),
    /** Lower-cased; unique. */
    email: p.text(),
    name: p.text(),
    /** PHC string, or null for a person without a password. */
    password_hash: p.text().nullable(),
    created_at: p.datetime(),
  },
});

export const Member = defineEntity({
  name: 'Member',
  tableName: 'members',
  properties: {
    workspace_id: p.uuid().primary(),
    user_id: p.uuid().primary(),
    role: p.text().$type<Role>(),
    created_at: p.datetime(),
  },
});

export const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  properties: {
    id: p.uuid().primary(),
    user_id: p.uuid(),
    /** SHA-256 of the cookie's value, hex. */
    token_hash: p.text(),
    user_agent: p.text().nullable(),
    address: p.text().nullable(),
    created_at: p.datetime(),
    last_seen_at: p.datetime(),
    expires_at: p.datetime(),
  },
});

export const Invitation = defineEntity({
  name: 'Invitation',
  tableName: 'invitations',
  properties: {
    id: p.uuid().primary(),
    workspace_id: p.uuid(),
    /** Lower-cased. */
    email: p.text(),
    role: p.text().$type<Role>(),
    /** SHA-256 of the link's token, hex. */
    token_hash: p.text(),
    /** The person's id; null once the person is gone. */
    invited_by: p.uuid().nullable(),
    created_at: p.datetime(),
    expires_at: p.datetime(),
    /** When the mail server took the mail about it; null where it was not mailed. */
    emailed_at: p.datetime().nullable(),
    accepted_at: p.datetime().nullable(),
    accepted_by: p.uuid().nullable(),
    /** Revoked, or replaced by a newer one. */
    revoked_at: p.datetime().nullable(),
  },
});

/** Who a person is at an OpenID provider. */
export const Identity = defineEntity({
  name: 'Identity',
  tableName: 'identities',
  properties: {
    issuer: p.text().primary(),
    subject: p.text().primary(),
    user_id: p.uuid(),
    created_at: p.datetime(),
  },
});

export const ApiKey = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  properties: {
    id: p.uuid().primary(),
    workspace_id: p.uuid(),
    project_id: p.uuid(),
    name: p.text(),
    /** The readable beginning of the key, shown in lists. */
    prefix: p.text(),
    /** SHA-256 of the whole key, hex; keys have 256 random bits, so no slow hash is needed. */
    key_hash: p.text(),
    scopes: p.array().$type<Scope[]>(),
    created_by: p.text(),
    created_at: p.datetime(),
    expires_at: p.datetime().nullable(),
    last_used_at: p.datetime().nullable(),
    revoked_at: p.datetime().nullable(),
    /** The key that took this one's place when it was rotated. */
    replaced_by: p.uuid().nullable(),
  },
});

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
    metadata: p.json<Record<string, unknown>>(),
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
    /** A pause made in the Temporal Web UI that was seen and is not known to be over. */
    engine_paused_at: p.datetime().nullable(),
    /** Whether the workflow has been told of that pause. */
    engine_pause_signalled: p.boolean(),
    callback_status: p.text().$type<'none' | 'pending' | 'delivered' | 'failed'>(),
    /** The callback's body, made once when the run ended; null before and without a callback. */
    callback_body: p.text().nullable(),
    /** The run that this one takes up, and from which step; null where that one is erased, or none is. */
    rerun_of: p.uuid().nullable(),
    rerun_from: p.text().nullable(),
    /** What an agent asks, while the run is paused for the answer. */
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

/** The audit log of callbacks, by the name that docs/how-it-works.md gives it. */
export const CallbackAttempt = defineEntity({
  name: 'CallbackAttempt',
  tableName: 'workflow_webhook_deliveries',
  properties: {
    id: p.uuid().primary(),
    execution_id: p.uuid(),
    attempt: p.integer(),
    url: p.text(),
    request_headers: p.json<Record<string, string>>(),
    request_body: p.text(),
    response_status: p.integer().nullable(),
    response_headers: p.json<Record<string, string>>().nullable(),
    /** The first 16 KiB of the answer. */
    response_body: p.text().nullable(),
    failure: p.text().nullable(),
    message: p.text().nullable(),
    address: p.text().nullable(),
    duration_ms: p.integer().nullable(),
    attempted_at: p.datetime(),
    completed_at: p.datetime().nullable(),
    next_attempt_at: p.datetime().nullable(),
  },
});

export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_keys',
  properties: {
    project_id: p.uuid().primary(),
    key: p.text().primary(),
    /** SHA-256 over method, path and body, hex. */
    request_hash: p.text(),
    /** The first answer, sealed; null while the first request is at work. */
    answer: p.text().nullable(),
    created_at: p.datetime(),
  },
});

export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_log',
  properties: {
    id: p.uuid().primary(),
    workspace_id: p.uuid(),
    /** `user:<id>`, `key:<id>` or `system`. */
    actor: p.text(),
    /** For example `key.created`. */
    action: p.text(),
    /** For example `key:<id>`. */
    subject: p.text(),
    detail: p.json<Record<string, unknown>>(),
    at: p.datetime(),
  },
});

export const Webhook = defineEntity({
  name: 'Webhook',
  tableName: 'webhooks',
  properties: {
    id: p.uuid().primary(),
    workspace_id: p.uuid(),
    name: p.text(),
    url: p.text(),
    events: p.json<Subscription[]>(),
    /** Sealed; null for a webhook that does not sign. */
    secret: p.text().nullable(),
    /** Sealed; signs too until `previous_secret_until`. */
    previous_secret: p.text().nullable(),
    previous_secret_until: p.datetime().nullable(),
    include_secret_header: p.boolean(),
    standard_webhooks: p.boolean(),
    active: p.boolean(),
    /** Failed attempts in a row, over all deliveries. */
    consecutive_failures: p.integer(),
    disabled_at: p.datetime().nullable(),
    disabled_reason: p.text().nullable(),
    created_by: p.text(),
    created_at: p.datetime(),
    updated_at: p.datetime(),
    /** Deleted ones stay for their log's sake, without secrets. */
    deleted_at: p.datetime().nullable(),
    /** Not null for one whose deliveries go to a listener on the channel: until when there surely is one. */
    listening_until: p.datetime().nullable(),
  },
});

export const WorkspaceEvent = defineEntity({
  name: 'WorkspaceEvent',
  tableName: 'events',
  properties: {
    /** In the order of arrival. */
    seq: p.bigint('number').primary(),
    workspace_id: p.uuid(),
    /** The sender's, or ours; unique in the workspace. */
    id: p.text(),
    group_id: p.uuid().nullable(),
    event: p.text().$type<EventKind>(),
    timestamp: p.datetime(),
    /** SHA-256 of the canonical content, to tell a repeat from another event with the same id. */
    content_hash: p.blob(),
    /** The payload, made once; null after its retention. */
    body: p.text().nullable(),
    /** What the log's search finds it by. */
    words: p.text(),
    test: p.boolean(),
    received_at: p.datetime(),
  },
});

export const Delivery = defineEntity({
  name: 'Delivery',
  tableName: 'deliveries',
  properties: {
    /** Made of event and webhook, the same when the work is repeated; `X-Service-Delivery`. */
    id: p.uuid().primary(),
    workspace_id: p.uuid(),
    webhook_id: p.uuid(),
    event_seq: p.bigint('number'),
    event_id: p.text(),
    event: p.text().$type<EventKind>(),
    status: p.text().$type<DeliveryStatus>(),
    test: p.boolean(),
    /** Why it was not sent, or not sent yet. */
    reason: p.text().nullable(),
    /** Counts how often its schedule began anew; work of an older one does nothing. */
    generation: p.integer(),
    /** Whether its webhook's backlog has to send it. */
    in_backlog: p.boolean(),
    /** Failed automatic attempts of the present schedule. */
    failures: p.integer(),
    attempts_count: p.integer(),
    /** Of the last attempt, as the two that follow. */
    response_status: p.integer().nullable(),
    failure: p.text().$type<FailureKind>().nullable(),
    response_ms: p.integer().nullable(),
    next_attempt_at: p.datetime().nullable(),
    /** Whether the workflow of its retries is known to be there. */
    retry_started: p.boolean(),
    created_at: p.datetime(),
    updated_at: p.datetime(),
  },
});

export const DeliveryAttempt = defineEntity({
  name: 'DeliveryAttempt',
  tableName: 'delivery_attempts',
  properties: {
    delivery_id: p.uuid().primary(),
    number: p.integer().primary(),
    trigger: p.text().$type<AttemptTrigger>(),
    attempted_at: p.datetime(),
    url: p.text(),
    /** As sent, secrets masked. The request's body is the event's. */
    request_headers: p.json<Record<string, string>>(),
    response_status: p.integer().nullable(),
    response_headers: p.json<Record<string, string>>().nullable(),
    response_body: p.text().nullable(),
    response_truncated: p.boolean().nullable(),
    failure: p.text().$type<FailureKind>().nullable(),
    message: p.text().nullable(),
    address: p.text().nullable(),
    timings: p.json<AttemptTimings>(),
    response_ms: p.integer().nullable(),
  },
});

export const Notification = defineEntity({
  name: 'Notification',
  tableName: 'notifications',
  properties: {
    id: p.uuid().primary(),
    workspace_id: p.uuid(),
    user_id: p.uuid(),
    /** One of the kinds in src/domain/notice.ts. */
    kind: p.text(),
    /** For example `webhook:<id>`. */
    subject: p.text(),
    detail: p.json<Record<string, unknown>>(),
    created_at: p.datetime(),
    read_at: p.datetime().nullable(),
    emailed_at: p.datetime().nullable(),
  },
});

export const entities = [
  Workspace,
  Project,
  User,
  Member,
  Session,
  Invitation,
  Identity,
  ApiKey,
  TaskRun,
  TaskEvent,
  CallbackAttempt,
  IdempotencyKey,
  AuditEntry,
  Webhook,
  WorkspaceEvent,
  Delivery,
  DeliveryAttempt,
  Notification,
] as const;
