import { defineEntity, p } from '@mikro-orm/core';
import type { Role, Scope } from '../domain/access.ts';
import type { FeedEventType } from '../domain/feed-events.ts';
import type { Escalation, RunError, Step, TaskType } from '../domain/task-run.ts';
import type { ActiveState, TaskState } from '../domain/task-states.ts';

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

/** The audit log of callbacks; the name is the specification's (2.4). */
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

export const entities = [
  Workspace,
  Project,
  User,
  Member,
  Session,
  ApiKey,
  TaskRun,
  TaskEvent,
  CallbackAttempt,
  IdempotencyKey,
  AuditEntry,
] as const;
