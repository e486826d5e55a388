import { LockMode } from '@mikro-orm/core';
import { recordAudit } from './audit.ts';
import type { Database } from '../database.ts';
import { Session, User } from './entities.ts';

/** The hash of a person's password; null where there is none, or no such person. */
export async function passwordHashOf(database: Database, userId: string): Promise<string | null> {
  const user = await database.em.fork().findOne(User, { id: userId });
  return user?.password_hash ?? null;
}

/**
 * Gives a person another password, ends all sessions but one, and puts another token into that. False where the
 * password is not the one of `oldHash` any more, or the session has ended: then nothing changes.
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
    // Takes the person's row first: sign-ins with the old password wait here, and fail then.
    const who = { id: userId, password_hash: oldHash };
    const held = await em.findOne(User, who, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!held) return false;
    const session = { id: sessionId, user_id: userId };
    if ((await em.nativeUpdate(Session, session, { token_hash: tokenHash })) === 0) return false;
    await em.nativeUpdate(User, who, { password_hash: newHash });
    const count = await em.nativeDelete(Session, { user_id: userId, id: { $ne: sessionId } });
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
