import { randomUUIDv7 } from 'node:crypto';
import { LockMode, type InferEntity } from '@mikro-orm/core';
import { statusOfInvitation, type InvitationStatus } from '../../domain/people/invitation.ts';
import { recordAudit, type EntityManager } from './audit.ts';
import type { Database } from '../database.ts';
import { Invitation, Member, User, Workspace } from './entities.ts';
import { lockEmail } from './invitations.ts';
import { beginSession, type NewSession } from './sessions.ts';

/** An invitation as the holder of its link sees it. */
export type ShownInvitation = {
  email: string;
  role: InferEntity<typeof Invitation>['role'];
  status: InvitationStatus;
  expiresAt: Date;
  workspace: { id: string; name: string };
  /** Name of the inviter; null if that person was removed. */
  inviter: string | null;
  /** The existing user with this address, with the hash of the password if there is one. */
  person: { userId: string; passwordHash: string | null; isMember: boolean } | null;
};

/** Returns the invitation with this token, in any status; null if there is none. */
export async function findInvitation(
  database: Database,
  tokenHash: string,
  now: Date,
): Promise<ShownInvitation | null> {
  const em = database.em.fork();
  const row = await em.findOne(Invitation, { token_hash: tokenHash });
  const workspace = row && (await em.findOne(Workspace, { id: row.workspace_id }));
  if (!row || !workspace) return null;
  const inviter = row.invited_by ? await em.findOne(User, { id: row.invited_by }) : null;
  const user = await em.findOne(User, { email: row.email });
  const membership = user && { workspace_id: workspace.id, user_id: user.id };
  return {
    email: row.email,
    role: row.role,
    status: statusOfInvitation(row, now),
    expiresAt: row.expires_at,
    workspace: { id: workspace.id, name: workspace.name },
    inviter: inviter?.name ?? null,
    person: user && {
      userId: user.id,
      passwordHash: user.password_hash ?? null,
      isMember: membership !== null && (await em.count(Member, membership)) > 0,
    },
  };
}

/** Who accepts: a new person, an existing person with a password, or a signed-in person. */
export type Accepting =
  | { kind: 'new'; name: string; passwordHash: string }
  | { kind: 'password'; userId: string; passwordHash: string }
  | { kind: 'signed_in'; userId: string };

/**
 * Why an invitation was not accepted: its status, it is for another person, the person is a member already, or the
 * account changed since the request was checked.
 */
export type AcceptanceRefusal =
  | Exclude<InvitationStatus, 'open'>
  | 'missing'
  | 'not_yours'
  | 'member'
  | 'changed';

/** Accepts an invitation once: creates the member, and starts a session if one is given. */
export async function acceptInvitation(
  database: Database,
  acceptance: {
    tokenHash: string;
    accepting: Accepting;
    session: Omit<NewSession, 'userId' | 'workspaceId'> | null;
    now: Date;
  },
): Promise<{ userId: string; workspaceId: string } | AcceptanceRefusal> {
  const { tokenHash, accepting, session, now } = acceptance;
  return await database.em.fork().transactional(async (em) => {
    // The address is locked before the row, as in `createInvitation`. The other order could deadlock.
    const found = await em.findOne(Invitation, { token_hash: tokenHash });
    if (!found) return 'missing';
    await lockEmail(em, found.email);
    const row = await em.refreshOrFail(found, { lockMode: LockMode.PESSIMISTIC_WRITE });
    const status = statusOfInvitation(row, now);
    if (status !== 'open') return status;
    const userId = await personOf(em, row.email, accepting, now);
    if (userId === null) return accepting.kind === 'signed_in' ? 'not_yours' : 'changed';
    const { workspace_id: workspaceId } = row;
    if ((await em.count(Member, { workspace_id: workspaceId, user_id: userId })) > 0) return 'member';
    await joinByInvitation(em, row, userId, now);
    if (session) await beginSession(em, { ...session, userId, workspaceId }, 'invitation');
    return { userId, workspaceId };
  });
}

/** Adds a person as a member by an open invitation, which is accepted by that. */
export async function joinByInvitation(
  em: EntityManager,
  row: InferEntity<typeof Invitation>,
  userId: string,
  now: Date,
): Promise<void> {
  const { id, workspace_id: workspaceId, email, role } = row;
  await em.insert(Member, { workspace_id: workspaceId, user_id: userId, role, created_at: now });
  await em.nativeUpdate(Invitation, { id }, { accepted_at: now, accepted_by: userId });
  const entry = { workspaceId, actor: `user:${userId}`, detail: { email, role }, at: now };
  await recordAudit(em, { ...entry, action: 'invitation.accepted', subject: `invitation:${id}` });
  await recordAudit(em, { ...entry, action: 'member.added', subject: `user:${userId}` });
}

/**
 * Returns the id of the person who accepts; null if the address belongs to another person by now, or the password has
 * changed.
 */
async function personOf(
  em: EntityManager,
  email: string,
  accepting: Accepting,
  now: Date,
): Promise<string | null> {
  if (accepting.kind === 'new') {
    if ((await em.count(User, { email })) > 0) return null;
    const id = randomUUIDv7();
    const { name, passwordHash: password_hash } = accepting;
    await em.insert(User, { id, email, name, password_hash, created_at: now });
    return id;
  }
  const { userId: id } = accepting;
  const which = accepting.kind === 'password' ? { password_hash: accepting.passwordHash } : {};
  // A concurrent change of the password waits for this lock, and then ends the new session.
  const user = await em.findOne(User, { id, email, ...which }, { lockMode: LockMode.PESSIMISTIC_READ });
  return user ? user.id : null;
}
