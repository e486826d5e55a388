import { sql } from 'kysely';
import { IDEMPOTENCY_RETENTION_MS } from '../../domain/common/limits.ts';
import { statements, type Database } from '../database.ts';
import { IdempotencyKey } from './entities.ts';

/**
 * How the claim of a key went. `mine`: this request is the first (or takes the place of one whose process died),
 * and `claimedAt` is when the key was first used. `answered`: the sealed first answer. `at_work`: the first one is
 * not done. `reused`: the key belongs to another request.
 */
export type ClaimOutcome =
  | { outcome: 'mine'; claimedAt: Date }
  | { outcome: 'answered'; answer: string }
  | { outcome: 'at_work' }
  | { outcome: 'reused' };

export type ClaimRequest = { scope: string; key: string; requestHash: string; now: Date };

/** A request that has not answered by then has no process any more. */
const ABANDONED_MS = 30_000;

/** Claims a key for a request. One statement for a fresh key; `scope` is the id of a project. */
export async function claimKey(database: Database, request: ClaimRequest): Promise<ClaimOutcome> {
  const { scope, key, requestHash, now } = request;
  const outdated = new Date(now.getTime() - IDEMPOTENCY_RETENTION_MS).toISOString();
  const fresh = await sql<{ created_at: string }>`
    insert into idempotency_keys (project_id, key, request_hash, created_at)
    values (${scope}::uuid, ${key}, ${requestHash}, ${now.toISOString()}::timestamptz)
    on conflict (project_id, key) do update
      set request_hash = excluded.request_hash, answer = null, created_at = excluded.created_at
      where idempotency_keys.created_at < ${outdated}::timestamptz
    returning created_at
  `.execute(statements(database));
  if (fresh.rows.length > 0) return { outcome: 'mine', claimedAt: now };
  const row = await database.em.fork().findOne(IdempotencyKey, { project_id: scope, key });
  if (!row) return { outcome: 'at_work' };
  if (row.request_hash !== requestHash) return { outcome: 'reused' };
  if (row.answer) return { outcome: 'answered', answer: row.answer };
  if (now.getTime() - row.created_at.getTime() < ABANDONED_MS) return { outcome: 'at_work' };
  return { outcome: 'mine', claimedAt: row.created_at };
}

/** Keeps the first answer, sealed. */
export async function storeAnswer(
  database: Database,
  scope: string,
  key: string,
  answer: string,
): Promise<void> {
  await database.em.fork().nativeUpdate(IdempotencyKey, { project_id: scope, key }, { answer });
}

/** Gives a key back whose request was refused; one with an answer stays. */
export async function releaseKey(database: Database, scope: string, key: string): Promise<void> {
  await database.em.fork().nativeDelete(IdempotencyKey, { project_id: scope, key, answer: null });
}

/** Forgets keys that are older than they need to be; answers how many. */
export async function deleteOldKeys(database: Database, now: Date): Promise<number> {
  const before = new Date(now.getTime() - IDEMPOTENCY_RETENTION_MS);
  return await database.em.fork().nativeDelete(IdempotencyKey, { created_at: { $lt: before } });
}
