import { randomUUIDv7 } from 'node:crypto';
import { AuditEntry } from './entities.ts';
import type { Database } from './connect.ts';
import type { InferEntity } from '@mikro-orm/core';

export type AuditRow = InferEntity<typeof AuditEntry>;
/** An entity manager, as a rule a transaction's. */
export type EntityManager = Database['em'];

/** Everything that an entry of the audit log may tell of. */
export const AUDIT_ACTIONS = [
  'installation.created',
  'project.created',
  'member.added',
  'member.role_changed',
  'member.removed',
  'key.created',
  'key.rotated',
  'key.revoked',
  'session.started',
  'session.ended',
  'session.others_ended',
  'person.password_changed',
  'person.openid_linked',
  'invitation.created',
  'invitation.revoked',
  'invitation.accepted',
  'webhook.created',
  'webhook.changed',
  'webhook.deleted',
  'webhook.secret_rotated',
  'webhook.disabled',
  'webhook.enabled',
  'webhook.recovered',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who did what to what; `detail` holds no secret. `actor` and `subject` look like `user:<id>` or `key:<id>`. */
export type AuditNote = {
  workspaceId: string;
  actor: string;
  action: AuditAction;
  subject: string;
  detail?: Record<string, unknown>;
  at: Date;
};

/** Writes an entry; called with the entity manager of the transaction that makes the change itself. */
export async function noteAudit(em: EntityManager, note: AuditNote): Promise<void> {
  await em.insert(AuditEntry, {
    id: randomUUIDv7(),
    workspace_id: note.workspaceId,
    actor: note.actor,
    action: note.action,
    subject: note.subject,
    detail: note.detail ?? {},
    at: note.at,
  });
}

/** A page of a workspace's audit log, newest first. */
export async function listAudit(
  database: Database,
  page: { workspaceId: string; cursor?: string | undefined; limit: number },
): Promise<AuditRow[]> {
  const where = page.cursor
    ? { workspace_id: page.workspaceId, id: { $lt: page.cursor } }
    : { workspace_id: page.workspaceId };
  return await database.em.fork().find(AuditEntry, where, { orderBy: { id: 'desc' }, limit: page.limit });
}
