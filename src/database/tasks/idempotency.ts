import { sql } from 'kysely';
import { IDEMPOTENCY_RETENTION_MS } from '../../domain/common/limits.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { IdempotencyKey } from './entities.ts';

/**
 * The result of claiming a key. `mine`: this request is the first (or replaces one whose process died), and `claimedAt`
 * is when the key was first used; `isFirst` is false in the second case. `answered`: the sealed first response.
 * `at_work`: the first request is in progress. `reused`: the key belongs to another request.
 */
export type ClaimOutcome =
  | { outcome: 'mine'; claimedAt: Date; isFirst: boolean }
  | { outcome: 'answered'; answer: string }
  | { outcome: 'at_work' }
  | { outcome: 'reused' };

/** `actor` is the credential. */
export type ClaimRequest = { scope: string; key: string; actor: string; requestHash: string; now: Date };

/** A request without a response after this time has no process any more, in milliseconds. */
const ABANDONED_MS = 30_000;

/** Claims a key for a request. One statement for a fresh key; `scope` is the id of a project. */
export async function claimKey(database: Database, request: ClaimRequest): Promise<ClaimOutcome> {
  const { scope, key, actor, requestHash, now } = request;
  const outdated = new Date(now.getTime() - IDEMPOTENCY_RETENTION_MS).toISOString();
  const fresh = await sql<{ created_at: string }>`
    insert into idempotency_keys (project_id, key, actor, request_hash, created_at)
    values (${scope}::uuid, ${key}, ${actor}, ${requestHash}, ${now.toISOString()}::timestamptz)
    on conflict (project_id, key) do update
      set actor = excluded.actor, request_hash = excluded.request_hash, answer = null, created_at = excluded.created_at
      where idempotency_keys.created_at < ${outdated}::timestamptz
    returning created_at
  `.execute(queryBuilderOf(database));
  if (fresh.rows.length > 0) return { outcome: 'mine', claimedAt: now, isFirst: true };
  const row = await database.em.fork().findOne(IdempotencyKey, { project_id: scope, key });
  if (!row) return { outcome: 'at_work' };
  const isOthers = row.actor !== null && row.actor !== actor;
  if (isOthers || row.request_hash !== requestHash) return { outcome: 'reused' };
  if (row.answer) return { outcome: 'answered', answer: row.answer };
  if (now.getTime() - row.created_at.getTime() < ABANDONED_MS) return { outcome: 'at_work' };
  return { outcome: 'mine', claimedAt: row.created_at, isFirst: false };
}

/** Stores the first response, sealed. */
export async function storeAnswer(
  database: Database,
  scope: string,
  key: string,
  answer: string,
): Promise<void> {
  await database.em.fork().nativeUpdate(IdempotencyKey, { project_id: scope, key }, { answer });
}

/** Releases the key of a rejected request. A key with a response stays. */
export async function releaseKey(database: Database, scope: string, key: string): Promise<void> {
  await database.em.fork().nativeDelete(IdempotencyKey, { project_id: scope, key, answer: null });
}

/** Deletes expired keys. Returns their number. */
export async function deleteOldKeys(database: Database, now: Date): Promise<number> {
  const before = new Date(now.getTime() - IDEMPOTENCY_RETENTION_MS);
  return await database.em.fork().nativeDelete(IdempotencyKey, { created_at: { $lt: before } });
}
