import { randomUUIDv7 } from 'node:crypto';
import { LockMode, type InferEntity } from '@mikro-orm/core';
import { sql } from 'kysely';
import { SESSION_IDLE_MS } from '../../domain/common/limits.ts';
import type { Role } from '../../domain/people/access.ts';
import { recordAudit, type EntityManager } from './audit.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { Session, User } from './entities.ts';

export type SessionRow = InferEntity<typeof Session>;

/** Condition on a session: it has not expired and was used recently. */
const isActive = sql<boolean>`sessions.expires_at > now()
  and sessions.last_seen_at > now() - ${`${SESSION_IDLE_MS} milliseconds`}::interval`;

/** A session with its person, and the role in the person's oldest workspace. */
export type ActiveSession = {
  id: string;
  user_id: string;
  email: string;
  name: string;
  workspace_id: string;
  role: Role;
  expires_at: Date;
};

/**
 * Returns the session with this hash, unless it has ended or its person is not a member of any workspace. One
 * statement.
 */
export async function findActiveSession(database: Database, hash: string): Promise<ActiveSession | null> {
  const row = await queryBuilderOf(database)
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .innerJoin('members', 'members.user_id', 'users.id')
    .where('sessions.token_hash', '=', hash)
    .where(isActive)
    .orderBy('members.created_at', 'asc')
    .select(['sessions.id', 'sessions.user_id', 'users.email', 'users.name'])
    .select(['members.workspace_id', 'members.role', 'sessions.expires_at'])
    .executeTakeFirst();
  // The query builder returns times as text.
  return row ? { ...row, expires_at: new Date(String(row.expires_at)) } : null;
}

/** Returns whether a session exists and has not ended. */
export async function isSessionActive(database: Database, id: string): Promise<boolean> {
  const row = await queryBuilderOf(database)
    .selectFrom('sessions')
    .where('id', '=', id)
    .where(isActive)
    .select('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Records when a session was last used. */
export async function recordSessionUse(database: Database, id: string, at: Date): Promise<void> {
  await database.em.fork().nativeUpdate(Session, { id }, { last_seen_at: at });
}

/** A new session. `tokenHash` is the SHA-256 of its cookie. */
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
 * Stores a new session and its audit entry. Returns false if `passwordHash`, which identified the person, has changed:
 * a password change ends all sessions, and none may start with the old password afterwards.
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

/** Starts a session inside a transaction, and deletes the person's expired sessions. */
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

/** Ends a session of this person. Returns false if there is none. */
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

/** Ends all other sessions of a person. Returns their number. */
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

/** Returns a page of a person's active sessions, newest first. */
export async function listSessions(
  database: Database,
  page: { userId: string; now: Date; cursor?: string | undefined; limit: number },
): Promise<SessionRow[]> {
  return await database.em.fork().find(
    Session,
    {
      user_id: page.userId,
      expires_at: { $gt: page.now },
      last_seen_at: { $gt: new Date(page.now.getTime() - SESSION_IDLE_MS) },
      ...(page.cursor ? { id: { $lt: page.cursor } } : {}),
    },
    { orderBy: { id: 'desc' }, limit: page.limit },
  );
}
