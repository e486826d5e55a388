import { randomUUIDv7 } from 'node:crypto';
import { LockMode, type InferEntity } from '@mikro-orm/core';
import { sql } from 'kysely';
import type { Role } from '../../domain/people/access.ts';
import { recordAudit, type EntityManager } from './audit.ts';
import { statements, type Database } from '../database.ts';
import { Session, User } from './entities.ts';

export type SessionRow = InferEntity<typeof Session>;

/** Whose session it is, with the role in the oldest of the person's workspaces. */
export type ActiveSession = {
  id: string;
  user_id: string;
  email: string;
  name: string;
  workspace_id: string;
  role: Role;
  expires_at: Date;
};

/** The session with this hash, unless it has expired or its person is no member of anything. One statement. */
export async function findActiveSession(database: Database, hash: string): Promise<ActiveSession | null> {
  const row = await statements(database)
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .innerJoin('members', 'members.user_id', 'users.id')
    .where('sessions.token_hash', '=', hash)
    .where(sql<boolean>`sessions.expires_at > now()`)
    .orderBy('members.created_at', 'asc')
    .select(['sessions.id', 'sessions.user_id', 'users.email', 'users.name'])
    .select(['members.workspace_id', 'members.role', 'sessions.expires_at'])
    .executeTakeFirst();
  // The query builder answers times as texts.
  return row ? { ...row, expires_at: new Date(String(row.expires_at)) } : null;
}

/** Notes when a session was last used. */
export async function recordSessionUse(database: Database, id: string, at: Date): Promise<void> {
  await database.em.fork().nativeUpdate(Session, { id }, { last_seen_at: at });
}

/** A session that begins; `tokenHash` is the SHA-256 of its cookie. */
export type NewSession = {
  userId: string;
  workspaceId: string;
  tokenHash: string;
  userAgent: string | null;
  address: string | null;
  now: Date;
  expiresAt: Date;
};

/**
 * Stores a new session and its audit entry. False where `passwordHash`, by which the person was recognised, is not
 * the person's any more: whoever changes a password ends all sessions, and none may slip in behind that.
 */
export async function startSession(
  database: Database,
  session: NewSession & { passwordHash: string | null },
): Promise<boolean> {
  return await database.em.fork().transactional(async (em) => {
    const { userId: id, passwordHash } = session;
    const which = { id, password_hash: passwordHash };
    const user = await em.findOne(User, which, { lockMode: LockMode.PESSIMISTIC_READ });
    if (!user) return false;
    await beginSession(em, session, 'password');
    return true;
  });
}

/** The same inside a transaction; clears the person's expired sessions away. */
export async function beginSession(
  em: EntityManager,
  session: NewSession,
  by: 'password' | 'invitation' | 'openid',
): Promise<void> {
  const { userId, workspaceId, now } = session;
  const id = randomUUIDv7();
  await em.nativeDelete(Session, { user_id: userId, expires_at: { $lte: now } });
  await em.insert(Session, {
    id,
    user_id: userId,
    token_hash: session.tokenHash,
    user_agent: session.userAgent,
    address: session.address,
    created_at: now,
    last_seen_at: now,
    expires_at: session.expiresAt,
  });
  await recordAudit(em, {
    workspaceId,
    actor: `user:${userId}`,
    action: 'session.started',
    subject: `session:${id}`,
    detail: { by },
    at: now,
  });
}

/** Ends a session of this person; false where there is none. */
export async function endSession(
  database: Database,
  which: { id: string; userId: string; workspaceId: string; now: Date },
): Promise<boolean> {
  const { id, userId, workspaceId, now } = which;
  return await database.em.fork().transactional(async (em) => {
    if ((await em.nativeDelete(Session, { id, user_id: userId })) === 0) return false;
    const subject = `session:${id}`;
    await recordAudit(em, {
      workspaceId,
      actor: `user:${userId}`,
      action: 'session.ended',
      subject,
      at: now,
    });
    return true;
  });
}

/** Ends all sessions of a person but one; answers how many. */
export async function endOtherSessions(
  database: Database,
  which: { keptId: string; userId: string; workspaceId: string; now: Date },
): Promise<number> {
  const { keptId, userId, workspaceId, now } = which;
  return await database.em.fork().transactional(async (em) => {
    const count = await em.nativeDelete(Session, { user_id: userId, id: { $ne: keptId } });
    const [actor, subject] = [`user:${userId}`, `session:${keptId}`];
    const entry = { workspaceId, actor, subject, detail: { count }, at: now };
    if (count > 0) await recordAudit(em, { ...entry, action: 'session.others_ended' });
    return count;
  });
}

/** A page of a person's living sessions, newest first. */
export async function listSessions(
  database: Database,
  page: { userId: string; now: Date; cursor?: string | undefined; limit: number },
): Promise<SessionRow[]> {
  return await database.em.fork().find(
    Session,
    {
      user_id: page.userId,
      expires_at: { $gt: page.now },
      ...(page.cursor ? { id: { $lt: page.cursor } } : {}),
    },
    { orderBy: { id: 'desc' }, limit: page.limit },
  );
}
