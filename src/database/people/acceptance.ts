import { randomUUIDv7 } from 'node:crypto';
import { LockMode, type InferEntity } from '@mikro-orm/core';
import { statusOfInvitation, type InvitationStatus } from '../../domain/people/invitation.ts';
import { recordAudit, type EntityManager } from './audit.ts';
import type { Database } from '../database.ts';
import { Invitation, Member, Session, User, Workspace } from './entities.ts';
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
  /**
   * The existing user with this address, with the hash of the password if there is one. Null also for an abandoned account,
   * see {@link isAbandoned}.
   */
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
  const known = await em.findOne(User, { email: row.email });
  const user = known && (await isAbandoned(em, known)) ? null : known;
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
 * Why an invitation was not accepted: its status, it is for another person, the person is a member already, an admin knows
 * the person's password, or the account changed since the request was checked.
 */
export type AcceptanceRefusal =
  | Exclude<InvitationStatus, 'open'>
  | 'missing'
  | 'not_yours'
  | 'member'
  | 'initial_password'
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
    const person = await personOf(em, row.email, accepting, now);
    if (typeof person === 'string') return person;
    const { userId } = person;
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

/** A person, or why that person cannot accept. */
type PersonFound =
  | { userId: string }
  | Extract<AcceptanceRefusal, 'not_yours' | 'initial_password' | 'changed'>;

/** Returns the person who accepts. */
async function personOf(
  em: EntityManager,
  email: string,
  accepting: Accepting,
  now: Date,
): Promise<PersonFound> {
  if (accepting.kind === 'new') return await addPerson(em, email, accepting, now);
  const { userId: id } = accepting;
  const which = accepting.kind === 'password' ? { password_hash: accepting.passwordHash } : {};
  // A concurrent change of the password waits for this lock, and then ends the new session.
  const user = await em.findOne(User, { id, email, ...which }, { lockMode: LockMode.PESSIMISTIC_READ });
  if (!user) return accepting.kind === 'signed_in' ? 'not_yours' : 'changed';
  return hasInitialPassword(user) ? 'initial_password' : { userId: user.id };
}

/** Adds a person, or gives an abandoned account to the person. */
async function addPerson(
  em: EntityManager,
  email: string,
  { name, passwordHash: password_hash }: Extract<Accepting, { kind: 'new' }>,
  now: Date,
): Promise<PersonFound> {
  const known = await em.findOne(User, { email });
  if (known === null) {
    const id = randomUUIDv7();
    await em.insert(User, { id, email, name, password_hash, created_at: now });
    return { userId: id };
  }
  if (!(await isAbandoned(em, known))) return 'changed';
  await em.nativeUpdate(User, { id: known.id }, { name, password_hash });
  // A sign-in may have started a session while the person was removed.
  await em.nativeDelete(Session, { user_id: known.id });
  return { userId: known.id };
}

type Account = Pick<InferEntity<typeof User>, 'id' | 'password_hash' | 'initial_password_hash'>;

/**
 * Returns whether an admin set the password of the account. That admin could act as the person in every other workspace that
 * the person joins.
 */
function hasInitialPassword({ password_hash: hash, initial_password_hash: initial }: Account): boolean {
  return typeof hash === 'string' && hash === initial;
}

/**
 * Returns whether an account with a password of an admin belongs to no workspace any more, so that its person can neither
 * change the password nor lose anything: the person who is invited with this address begins like a new one.
 */
async function isAbandoned(em: EntityManager, user: Account): Promise<boolean> {
  return hasInitialPassword(user) && (await em.count(Member, { user_id: user.id })) === 0;
}
