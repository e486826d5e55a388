import type { AuditAction } from '../../domain/people/audit-actions.ts';
import { lowestIdSince, nextUuid } from '../common/ids.ts';
import { AuditEntry } from './entities.ts';
import type { Database } from '../database.ts';
import type { InferEntity } from '@mikro-orm/core';

export type AuditRow = InferEntity<typeof AuditEntry>;
/** An entity manager, usually of a transaction. */
export type EntityManager = Database['em'];

/** An entry to be written. `detail` contains no secret. `actor` and `subject` look like `user:<id>` or `key:<id>`. */
export type NewAuditEntry = {
  workspaceId: string;
  actor: string;
  action: AuditAction;
  subject: string;
  detail?: Record<string, unknown>;
  at: Date;
};

/** Writes an audit entry, with the entity manager of the transaction that makes the change. */
export async function recordAudit(em: EntityManager, entry: NewAuditEntry): Promise<void> {
  await em.insert(AuditEntry, {
    id: nextUuid(),
    workspace_id: entry.workspaceId,
    actor: entry.actor,
    action: entry.action,
    subject: entry.subject,
    detail: entry.detail ?? {},
    at: entry.at,
  });
}

/** Filter of a workspace's audit log. */
export type AuditFilter = {
  workspaceId: string;
  actions?: readonly AuditAction[] | undefined;
  /** In stored form: `user:<id>`, `key:<id>` or `system`. */
  actor?: string | undefined;
  createdAfter?: Date | undefined;
  createdBefore?: Date | undefined;
  /** The id of the last row of the previous page. */
  cursor?: string | undefined;
  limit: number;
};

/**
 * The time of an entry is taken before its id, so the id is not older. The tolerance is for a clock that is corrected, in
 * milliseconds.
 */
const CORRECTED_MS = 3_600_000;

/** Returns a page of a workspace's audit log, newest first. */
export async function listAudit(database: Database, filter: AuditFilter): Promise<AuditRow[]> {
  const { workspaceId, actions, actor, createdAfter, createdBefore, cursor, limit } = filter;
  const where = [
    { workspace_id: workspaceId },
    ...(actions ? [{ action: { $in: [...actions] } }] : []),
    ...(actor === undefined ? [] : [{ actor }]),
    ...(createdAfter
      ? [{ at: { $gte: createdAfter }, id: { $gte: lowestIdSince(createdAfter, CORRECTED_MS) } }]
      : []),
    ...(createdBefore ? [{ at: { $lt: createdBefore } }] : []),
    ...(cursor === undefined ? [] : [{ id: { $lt: cursor } }]),
  ];
  return await database.em.fork().find(AuditEntry, { $and: where }, { orderBy: { id: 'desc' }, limit });
}
