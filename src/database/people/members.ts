import { randomUUIDv7 } from 'node:crypto';
import { LockMode } from '@mikro-orm/core';
import { hasRole, type Role } from '../../domain/people/access.ts';
import type { AuditAction } from '../../domain/people/audit-actions.ts';
import { recordAudit, type EntityManager } from './audit.ts';
import { queryBuilderOf, type Database, type WithChange } from '../database.ts';
import { Identity, Invitation, Member, Session, User } from './entities.ts';
import { lockEmail, revokeBeyondRole } from './invitations.ts';
import { personIn } from './key-creators.ts';
import { revokeKeysOf } from './keys.ts';

/** A member of a workspace. `id` is the person's. */
export type MemberRow = { id: string; email: string; name: string; role: Role; created_at: Date };

type Which = { workspaceId: string; userId: string; actor: string; now: Date };

/**
 * Why a change of members failed: the actor is not an admin anymore, there is no such member, the last owner would be
 * removed, or only an owner may do this.
 */
export type MemberRefusal = 'admins_only' | 'missing' | 'last_owner' | 'owners_only';

/** Returns a page of a workspace's members, the newest person first. */
export async function listMembers(
  database: Database,
  page: { workspaceId: string; cursor?: string | undefined; limit: number },
): Promise<MemberRow[]> {
  const rows = await memberQuery(database, page.workspaceId)
    .$if(page.cursor !== undefined, (query) => query.where('users.id', '<', page.cursor as never))
    .orderBy('users.id', 'desc')
    .limit(page.limit)
    .execute();
  return rows.map(memberOf);
}

/** Why a person was not added: the address belongs to a member already, or to a member of another workspace only. */
export type AdditionRefusal = 'member' | 'elsewhere';

/** The role of the actor who adds a person is too low. */
type RoleRefusal = Extract<MemberRefusal, 'admins_only' | 'owners_only'>;

/**
 * Adds a person to a workspace. A member of another workspace with this address is not added: an admin there may have set
 * the password, so the person must accept an invitation. A person who was removed from all workspaces keeps only the name:
 * the address may belong to somebody else by now, and a person who knows the old password must not get the new role.
 */
export async function addMember(
  database: Database,
  plan: {
    workspaceId: string;
    email: string;
    name: string;
    role: Role;
    passwordHash: string;
    actor: string;
    now: Date;
    withChange?: WithChange<MemberRow> | undefined;
  },
): Promise<MemberRow | AdditionRefusal | RoleRefusal> {
  return await database.em.fork().transactional(async (em) => {
    const { actorRole } = await lockMembers(em, plan, []);
    if (!hasRole(actorRole, 'admin')) return 'admins_only';
    if (plan.role === 'owner' && actorRole !== 'owner') return 'owners_only';
    await lockEmail(em, plan.email);
    const known = await em.findOne(User, { email: plan.email });
    const id = known?.id ?? randomUUIDv7();
    const memberships = known ? await em.find(Member, { user_id: id }) : [];
    if (memberships.some((one) => one.workspace_id === plan.workspaceId)) return 'member';
    if (memberships.length > 0) return 'elsewhere';
    const { email, name, role, passwordHash, now } = plan;
    const passwords = { password_hash: passwordHash, initial_password_hash: passwordHash };
    if (known) {
      await em.nativeUpdate(User, { id }, passwords);
      // A sign-in may have started a session while the person was removed.
      await em.nativeDelete(Session, { user_id: id });
    } else {
      await em.insert(User, { id, email, name, ...passwords, created_at: now });
    }
    await em.insert(Member, { workspace_id: plan.workspaceId, user_id: id, role, created_at: now });
    // Revokes an open invitation for this address.
    const invited = { workspace_id: plan.workspaceId, email, accepted_at: null, revoked_at: null };
    await em.nativeUpdate(Invitation, invited, { revoked_at: now });
    await auditMember(em, { ...plan, userId: id }, 'member.added', { email, role });
    const row = { id, email, name: known?.name ?? name, role, created_at: now };
    await plan.withChange?.(em, row);
    return row;
  });
}

/** Changes the role of a member. */
export async function changeRole(
  database: Database,
  which: Which,
  role: Role,
): Promise<MemberRow | MemberRefusal> {
  return await database.em.fork().transactional(async (em) => {
    const { owners, actorRole } = await lockMembers(em, which, [which.userId]);
    if (!hasRole(actorRole, 'admin')) return 'admins_only';
    const member = await em.findOne(Member, { workspace_id: which.workspaceId, user_id: which.userId });
    const user = member && (await em.findOne(User, { id: which.userId }));
    if (!member || !user) return 'missing';
    const before = member.role;
    if ((before === 'owner' || role === 'owner') && actorRole !== 'owner') return 'owners_only';
    if (before === 'owner' && role !== 'owner' && !hasOther(owners, which)) return 'last_owner';
    member.role = role;
    // The member's row is locked before those of the invitations, as in `createInvitation`.
    await em.flush();
    await revokeBeyondRole(em, { ...which, role });
    await auditMember(em, which, 'member.role_changed', { email: user.email, from: before, to: role });
    return { id: user.id, email: user.email, name: user.name, role, created_at: member.created_at };
  });
}

/**
 * Removes a member from a workspace, and revokes the member's keys if `revokeKeys` is true. If it was the person's last
 * workspace, all sessions end. Returns null on success.
 */
export async function removeMember(
  database: Database,
  which: Which & { revokeKeys: boolean },
): Promise<MemberRefusal | null> {
  return await database.em.fork().transactional(async (em) => {
    const { owners, actorRole } = await lockMembers(em, which, [which.userId]);
    if (!hasRole(actorRole, 'admin')) return 'admins_only';
    const member = await em.findOne(Member, { workspace_id: which.workspaceId, user_id: which.userId });
    if (!member) return 'missing';
    if (member.role === 'owner' && actorRole !== 'owner') return 'owners_only';
    if (member.role === 'owner' && !hasOther(owners, which)) return 'last_owner';
    const { email } = await em.findOneOrFail(User, { id: which.userId });
    // A removal from another workspace at the same moment would count this membership, and this one would count the other.
    await lockEmail(em, email);
    await em.nativeDelete(Member, { workspace_id: which.workspaceId, user_id: which.userId });
    await revokeBeyondRole(em, { ...which, role: null });
    if (which.revokeKeys) await revokeKeysOf(em, which);
    if ((await em.count(Member, { user_id: which.userId })) === 0) {
      await em.nativeDelete(Session, { user_id: which.userId });
      // If another person gets the address, that person can be invited and linked at the provider.
      await em.nativeDelete(Identity, { user_id: which.userId });
    }
    const keys = which.revokeKeys ? 'revoked' : 'kept';
    await auditMember(em, which, 'member.removed', { role: member.role, keys });
    return null;
  });
}

/** Returns a member by id; null if the person is not a member. */
export async function findMember(
  database: Database,
  workspaceId: string,
  userId: string,
): Promise<MemberRow | null> {
  const row = await memberQuery(database, workspaceId).where('users.id', '=', userId).executeTakeFirst();
  return row ? memberOf(row) : null;
}

/**
 * Returns the person with this e-mail address, with the password hash and the oldest membership. One statement in every
 * case, so that the response time reveals nothing.
 */
export async function findForSignIn(
  database: Database,
  email: string,
): Promise<{ userId: string; passwordHash: string | null; workspaceId: string } | null> {
  const row = await queryBuilderOf(database)
    .selectFrom('users')
    .innerJoin('members', 'members.user_id', 'users.id')
    .where('users.email', '=', email)
    .orderBy('members.created_at', 'asc')
    .select(['users.id as userId', 'users.password_hash as passwordHash'])
    .select('members.workspace_id as workspaceId')
    .limit(1)
    .executeTakeFirst();
  return row ? { ...row, passwordHash: row.passwordHash ?? null } : null;
}

/**
 * Locks the owners' rows, so that two owners cannot remove each other's role at the same time, and those of the members
 * and of the actor. Returns the owners, and the role that the actor has now: it may have been lowered since the request
 * was admitted. All rows are locked in one order, so that two admins who change each other do not deadlock.
 */
async function lockMembers(
  em: EntityManager,
  { workspaceId, actor }: { workspaceId: string; actor: string },
  userIds: readonly string[],
) {
  const actorId = personIn(actor);
  const ids = [...userIds, ...(actorId === null ? [] : [actorId])];
  const rows = await em.find(
    Member,
    { workspace_id: workspaceId, $or: [{ role: 'owner' }, { user_id: { $in: ids } }] },
    { lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { user_id: 'asc' } },
  );
  const owners = rows.filter(({ role }) => role === 'owner');
  const actorRole = actorId === null ? 'owner' : rows.find(({ user_id: id }) => id === actorId)?.role;
  // A person who is not a member anymore may not do more here than a viewer.
  return { owners, actorRole: actorRole ?? 'viewer' };
}

/**
 * Returns whether another person than the member is a locked owner. A statement that waited for the locks does not return
 * owners that were added during the wait, so their number alone says nothing.
 */
function hasOther(owners: readonly { user_id: string }[], { userId }: { userId: string }): boolean {
  return owners.some(({ user_id: id }) => id !== userId);
}

async function auditMember(
  em: EntityManager,
  change: { workspaceId: string; userId: string; actor: string; now: Date },
  action: AuditAction,
  detail: Record<string, unknown>,
): Promise<void> {
  const { workspaceId, actor, now: at } = change;
  await recordAudit(em, { workspaceId, actor, action, subject: `user:${change.userId}`, detail, at });
}

function memberQuery(database: Database, workspaceId: string) {
  return queryBuilderOf(database)
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .where('members.workspace_id', '=', workspaceId)
    .select(['users.id', 'users.email', 'users.name', 'members.role', 'members.created_at']);
}

/** Converts a row. The query builder returns times as text. */
function memberOf(row: {
  id: string;
  email: string;
  name: string;
  role: string;
  created_at: unknown;
}): MemberRow {
  return { ...row, role: row.role as Role, created_at: new Date(String(row.created_at)) };
}
