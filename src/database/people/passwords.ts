import { randomUUIDv7 } from 'node:crypto';
import { LockMode } from '@mikro-orm/core';
import { recordAudit } from './audit.ts';
import type { Database } from '../database.ts';
import { Member, Session, User } from './entities.ts';

/** Returns the hash of a person's password; null if there is no password or no such person. */
export async function findPasswordHash(database: Database, userId: string): Promise<string | null> {
  const user = await database.em.fork().findOne(User, { id: userId });
  return user?.password_hash ?? null;
}

/**
 * Changes a person's password, ends all other sessions, and replaces the token of the current session. Returns false
 * and changes nothing if the password hash is not `oldHash` any more, or the session has ended.
 */
export async function changePassword(
  database: Database,
  change: {
    userId: string;
    workspaceId: string;
    sessionId: string;
    oldHash: string;
    newHash: string;
    /** SHA-256 of the new cookie. */
    tokenHash: string;
    now: Date;
  },
): Promise<boolean> {
  const { userId, workspaceId, sessionId, oldHash, newHash, tokenHash, now } = change;
  return await database.em.fork().transactional(async (em) => {
    // Locks the person's row first. Sign-ins with the old password wait for it, and then fail.
    const who = { id: userId, password_hash: oldHash };
    const held = await em.findOne(User, who, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!held) return false;
    const session = { id: sessionId, user_id: userId };
    // Tokens that the session has created end with its old id.
    const renewed = { id: randomUUIDv7(), token_hash: tokenHash };
    if ((await em.nativeUpdate(Session, session, renewed)) === 0) return false;
    await em.nativeUpdate(User, who, { password_hash: newHash });
    const count = await em.nativeDelete(Session, { user_id: userId, id: { $ne: renewed.id } });
    await recordAudit(em, {
      workspaceId,
      actor: `user:${userId}`,
      action: 'person.password_changed',
      subject: `user:${userId}`,
      detail: { sessions_ended: count },
      at: now,
    });
    return true;
  });
}

/**
 * Replaces the password of a member on behalf of the operator, and ends all sessions of the person. As after an addition by
 * an admin, the person has not chosen it. Returns false if no workspace has a member with this e-mail address.
 */
export async function resetPassword(
  database: Database,
  { email, hash, now }: { email: string; hash: string; now: Date },
): Promise<boolean> {
  return await database.em.fork().transactional(async (em) => {
    // Sign-ins with the old password wait for this lock, and then fail.
    const user = await em.findOne(User, { email }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    const memberships = user ? await em.find(Member, { user_id: user.id }) : [];
    if (!user || memberships.length === 0) return false;
    await em.nativeUpdate(User, { id: user.id }, { password_hash: hash, initial_password_hash: hash });
    const count = await em.nativeDelete(Session, { user_id: user.id });
    for (const { workspace_id: workspaceId } of memberships) {
      await recordAudit(em, {
        workspaceId,
        actor: 'system',
        action: 'person.password_reset',
        subject: `user:${user.id}`,
        detail: { sessions_ended: count },
        at: now,
      });
    }
    return true;
  });
}
