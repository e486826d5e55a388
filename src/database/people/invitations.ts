import { randomUUIDv7 } from 'node:crypto';
import { LockMode, type InferEntity } from '@mikro-orm/core';
import { ROLES, type Role } from '../../domain/people/access.ts';
import { rolesToInvite, type InvitationStatus } from '../../domain/people/invitation.ts';
import { MAX_OPEN_INVITATIONS } from '../../domain/common/limits.ts';
import type { AuditAction } from '../../domain/people/audit-actions.ts';
import { recordAudit, type EntityManager } from './audit.ts';
import { lockByName } from '../common/lock.ts';
import type { Database, WithChange } from '../database.ts';
import { Invitation, Member, User } from './entities.ts';

/** An invitation; `inviter` is null if that person was removed. */
export type InvitationRow = InferEntity<typeof Invitation> & { inviter: { id: string; name: string } | null };

/** The person who changes invitations. */
type Requester = { workspaceId: string; userId: string; now: Date };

/** Neither accepted nor revoked, expired or not. */
const PENDING = { accepted_at: null, revoked_at: null } as const;

/**
 * Stores an invitation, and revokes an open one for the same address.
 * @returns the invitation, or why not: the address belongs to a member, the requester may not invite to this role (or
 * not revoke the previous one), or too many are open
 */
export async function createInvitation(
  database: Database,
  plan: Requester & {
    email: string;
    role: Role;
    tokenHash: string;
    expiresAt: Date;
    withChange?: WithChange<InvitationRow> | undefined;
  },
): Promise<InvitationRow | 'member' | 'not_allowed' | 'too_many'> {
  const { workspaceId: workspace_id, userId, email, role, now } = plan;
  return await database.em.fork().transactional(async (em) => {
    const roles = await lockRolesToInvite(em, plan);
    if (!roles.includes(role)) return 'not_allowed';
    await lockEmail(em, email);
    if (await isMember(em, workspace_id, email)) return 'member';
    const before = await em.findOne(Invitation, { workspace_id, email, ...PENDING });
    if (before && !roles.includes(before.role)) return 'not_allowed';
    const open = { workspace_id, ...PENDING, expires_at: { $gt: now } };
    // The lock serializes creations, so that the limit holds.
    await lockByName(em, `invitations ${workspace_id}`);
    if (!before && (await em.count(Invitation, open)) >= MAX_OPEN_INVITATIONS) return 'too_many';
    if (before) await revoke(em, before, plan);
    const row = em.create(Invitation, {
      id: randomUUIDv7(),
      workspace_id,
      email,
      role,
      token_hash: plan.tokenHash,
      invited_by: userId,
      created_at: now,
      expires_at: plan.expiresAt,
    });
    await em.persist(row).flush();
    await auditInvitation(em, 'invitation.created', row, `user:${userId}`, now);
    const whole = await withInviter(em, row);
    await plan.withChange?.(em, whole);
    return whole;
  });
}

/** Returns a page of a workspace's invitations, newest first, optionally only of some statuses. */
export async function listInvitations(
  database: Database,
  page: {
    workspaceId: string;
    statuses: readonly InvitationStatus[] | undefined;
    now: Date;
    cursor?: string | undefined;
    limit: number;
  },
): Promise<InvitationRow[]> {
  const em = database.em.fork();
  const rows = await em.find(
    Invitation,
    {
      workspace_id: page.workspaceId,
      ...(page.statuses ? { $or: page.statuses.map((status) => whereStatus(status, page.now)) } : {}),
      ...(page.cursor ? { id: { $lt: page.cursor } } : {}),
    },
    { orderBy: { id: 'desc' }, limit: page.limit },
  );
  const ids = rows.flatMap(({ invited_by: id }) => id ?? []);
  const people = new Map(
    (await em.find(User, { id: { $in: ids } })).map(({ id, name }) => [id, { id, name }]),
  );
  return rows.map((row) => Object.assign(row, { inviter: people.get(row.invited_by ?? '') ?? null }));
}

/**
 * Revokes an invitation. Does nothing if it is revoked already.
 * @returns why not; null on success
 */
export async function revokeInvitation(
  database: Database,
  which: Requester & { id: string },
): Promise<'missing' | 'accepted' | 'not_allowed' | null> {
  return await database.em.fork().transactional(async (em) => {
    const roles = await lockRolesToInvite(em, which);
    const row = await em.findOne(
      Invitation,
      { id: which.id, workspace_id: which.workspaceId },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (!row) return 'missing';
    if (row.accepted_at) return 'accepted';
    if (!roles.includes(row.role)) return 'not_allowed';
    if (!row.revoked_at) await revoke(em, row, which);
    return null;
  });
}

/** Records that the mail server accepted the mail of an invitation. */
export async function markInvitationMailed(database: Database, id: string, at: Date): Promise<void> {
  await database.em.fork().nativeUpdate(Invitation, { id }, { emailed_at: at });
}

/**
 * Revokes the open invitations of a member that exceed the member's new role (null: no longer a member). Called in the
 * transaction that changes the role.
 */
export async function revokeBeyondRole(
  em: EntityManager,
  { workspaceId, userId, role, actor, now }: Requester & { role: Role | null; actor: string },
): Promise<void> {
  const kept = role === null ? [] : rolesToInvite(role);
  const beyond = ROLES.filter((other) => !kept.includes(other));
  const which = { workspace_id: workspaceId, invited_by: userId, role: { $in: beyond }, ...PENDING };
  const rows = await em.find(Invitation, which, { lockMode: LockMode.PESSIMISTIC_WRITE });
  for (const row of rows) {
    row.revoked_at = now;
    await auditInvitation(em, 'invitation.revoked', row, actor, now);
  }
}

/** Serializes requests about the same address. */
export async function lockEmail(em: EntityManager, email: string): Promise<void> {
  await lockByName(em, `user ${email}`);
}

/** Returns the roles that the requester may invite to, locked until the transaction ends. */
async function lockRolesToInvite(
  em: EntityManager,
  { workspaceId, userId }: Requester,
): Promise<readonly Role[]> {
  const which = { workspace_id: workspaceId, user_id: userId };
  const member = await em.findOne(Member, which, { lockMode: LockMode.PESSIMISTIC_READ });
  return member ? rolesToInvite(member.role) : [];
}

async function isMember(em: EntityManager, workspaceId: string, email: string): Promise<boolean> {
  const user = await em.findOne(User, { email });
  return user !== null && (await em.count(Member, { workspace_id: workspaceId, user_id: user.id })) > 0;
}

async function revoke(em: EntityManager, row: InferEntity<typeof Invitation>, { userId, now }: Requester) {
  row.revoked_at = now;
  await em.flush();
  await auditInvitation(em, 'invitation.revoked', row, `user:${userId}`, now);
}

async function auditInvitation(
  em: EntityManager,
  action: AuditAction,
  { id, workspace_id: workspaceId, email, role }: InferEntity<typeof Invitation>,
  actor: string,
  at: Date,
): Promise<void> {
  await recordAudit(em, {
    workspaceId,
    actor,
    action,
    subject: `invitation:${id}`,
    detail: { email, role },
    at,
  });
}

async function withInviter(em: EntityManager, row: InferEntity<typeof Invitation>): Promise<InvitationRow> {
  const user = await em.findOne(User, { id: row.invited_by ?? '' });
  return Object.assign(row, { inviter: user && { id: user.id, name: user.name } });
}

function whereStatus(status: InvitationStatus, now: Date) {
  switch (status) {
    case 'accepted':
      return { accepted_at: { $ne: null } };
    case 'revoked':
      return { revoked_at: { $ne: null } };
    case 'expired':
      return { ...PENDING, expires_at: { $lte: now } };
    case 'open':
      return { ...PENDING, expires_at: { $gt: now } };
  }
}
