import { defineEntity, p } from '@mikro-orm/core';
import type { Role, Scope } from '../../domain/people/access.ts';

/** The tables of workspaces, people and their access. Property names are the column names and the names in the API. Migrations create the tables. */

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
    /** The hash of the last password that an admin set. The person has not chosen another one while it is `password_hash`. */
    initial_password_hash: p.text().nullable(),
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
    /** When the mail server accepted the mail about it; null if it was not mailed. */
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
    /** The key that replaced this key when it was rotated. */
    replaced_by: p.uuid().nullable(),
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

export const Notification = defineEntity({
  name: 'Notification',
  tableName: 'notifications',
  properties: {
    id: p.uuid().primary(),
    workspace_id: p.uuid(),
    user_id: p.uuid(),
    /** One of the kinds in src/domain/people/notice.ts. */
    kind: p.text(),
    /** For example `webhook:<id>`. */
    subject: p.text(),
    detail: p.json<Record<string, unknown>>(),
    created_at: p.datetime(),
    read_at: p.datetime().nullable(),
    emailed_at: p.datetime().nullable(),
    /** When the workflow of its mail was started. */
    mail_started_at: p.datetime().nullable(),
  },
});
