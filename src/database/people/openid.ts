import { randomUUIDv7 } from 'node:crypto';
import { LockMode } from '@mikro-orm/core';
import type { Role } from '../../domain/people/access.ts';
import { recordAudit, type EntityManager } from './audit.ts';
import { joinByInvitation } from './acceptance.ts';
import type { Database } from '../database.ts';
import { Identity, Invitation, Member, Session, User, Workspace } from './entities.ts';
import { lockEmail } from './invitations.ts';
import { beginSession, type NewSession } from './sessions.ts';

/** A person as the provider identifies them. `email` is in lower case, and null if the provider has not verified it. */
type ProviderIdentity = { issuer: string; subject: string; email: string | null; name: string };

/** E-mail domains whose users may join without an invitation, and their role. */
export type JoinByDomain = { domains: readonly string[]; role: Role };

/**
 * Why a sign-in was refused: an unknown person has no verified address, the address is not invited, or the account with
 * this address is linked to another identity of the same provider.
 */
export type OpenIdRefusal = 'email_not_verified' | 'not_invited' | 'linked_otherwise';

type Admission = { workspaceId: string; join(em: EntityManager, userId: string): Promise<void> };

/**
 * Signs in a person by issuer and subject. The first time, it uses the verified address: of a member, of an open
 * invitation, or of an allowed domain. Stores nothing if the sign-in is refused.
 */
export async function signInByOpenId(
  database: Database,
  plan: {
    person: ProviderIdentity;
    joining: JoinByDomain | null;
    session: Omit<NewSession, 'userId' | 'workspaceId'>;
    now: Date;
  },
): Promise<{ userId: string; workspaceId: string } | OpenIdRefusal> {
  const { person, joining, session, now } = plan;
  const { issuer, subject, email } = person;
  return await database.em.fork().transactional(async (em) => {
    if (email !== null) await lockEmail(em, email);
    const identity = await em.findOne(Identity, { issuer, subject });
    if (!identity && email === null) return 'email_not_verified';
    const user = await em.findOne(User, identity ? { id: identity.user_id } : { email: email ?? '' });
    const isLinkedOtherwise =
      !identity && user !== null && (await em.count(Identity, { user_id: user.id, issuer })) > 0;
    if (isLinkedOtherwise) return 'linked_otherwise';
    const membership = user && (await findMemberAdmission(em, user.id));
    const admission = membership ?? (await findGuestAdmission(em, email, joining, now));
    if (!admission) return email === null ? 'email_not_verified' : 'not_invited';
    const userId = user?.id ?? (await addPerson(em, person, now));
    await admission.join(em, userId);
    // The address of a removed member may belong to another person by now, who must not share the account.
    if (user && !membership) {
      await em.nativeUpdate(User, { id: userId }, { password_hash: null });
      await em.nativeDelete(Session, { user_id: userId });
    }
    if (!identity) await link(em, person, { userId, workspaceId: admission.workspaceId, now });
    await beginSession(em, { ...session, userId, workspaceId: admission.workspaceId }, 'openid');
    return { userId, workspaceId: admission.workspaceId };
  });
}

async function findMemberAdmission(em: EntityManager, userId: string): Promise<Admission | null> {
  const member = await em.findOne(Member, { user_id: userId }, { orderBy: { created_at: 'asc' } });
  return member && { workspaceId: member.workspace_id, join: async () => {} };
}

/** Returns the newest open invitation of an address, otherwise what its domain allows. */
async function findGuestAdmission(
  em: EntityManager,
  email: string | null,
  joining: JoinByDomain | null,
  now: Date,
): Promise<Admission | null> {
  if (email === null) return null;
  const open = { email, accepted_at: null, revoked_at: null, expires_at: { $gt: now } };
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const row = await em.findOne(Invitation, open, { lockMode, orderBy: { id: 'desc' } });
  if (row) {
    return {
      workspaceId: row.workspace_id,
      join: async (inner, userId) => await joinByInvitation(inner, row, userId, now),
    };
  }
  if (!joining?.domains.includes(email.slice(email.lastIndexOf('@') + 1))) return null;
  const workspace = await em.findOne(Workspace, { id: { $ne: null } }, { orderBy: { created_at: 'asc' } });
  const { role } = joining;
  return workspace && { workspaceId: workspace.id, join: joinAs(workspace.id, { email, role, now }) };
}

function joinAs(
  workspaceId: string,
  { email, role, now }: { email: string; role: Role; now: Date },
): Admission['join'] {
  return async (em, userId) => {
    await em.insert(Member, { workspace_id: workspaceId, user_id: userId, role, created_at: now });
    await recordAudit(em, {
      workspaceId,
      actor: `user:${userId}`,
      action: 'member.added',
      subject: `user:${userId}`,
      detail: { email, role, by: 'openid' },
      at: now,
    });
  };
}

async function addPerson(em: EntityManager, { email, name }: ProviderIdentity, now: Date): Promise<string> {
  const id = randomUUIDv7();
  await em.insert(User, { id, email: email ?? '', name, created_at: now });
  return id;
}

async function link(
  em: EntityManager,
  { issuer, subject }: ProviderIdentity,
  { userId, workspaceId, now }: { userId: string; workspaceId: string; now: Date },
): Promise<void> {
  await em.insert(Identity, { issuer, subject, user_id: userId, created_at: now });
  const actor = `user:${userId}`;
  const action = 'person.openid_linked';
  await recordAudit(em, { workspaceId, actor, action, subject: actor, detail: { issuer }, at: now });
}
