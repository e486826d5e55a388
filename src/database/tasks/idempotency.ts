import { sql } from 'kysely';
import {
  outcomeOfClaim,
  outdatedBefore,
  type ClaimOutcome,
  type ClaimRequest,
} from '../../domain/common/idempotency.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { listProjectIds } from '../people/projects.ts';
import { IdempotencyKey } from './entities.ts';

/** The stored idempotency keys. `scope` is the id of a project. */
export type IdempotencyKeys = {
  /** Claims a key for a request. One statement for a fresh key. */
  claim(request: ClaimRequest): Promise<ClaimOutcome>;
  /** Stores the first response, sealed. */
  storeAnswer(scope: string, key: string, answer: string): Promise<void>;
  /** Releases the key of a rejected request. A key with a response stays. */
  release(scope: string, key: string): Promise<void>;
  /** Returns the scopes of a workspace, the oldest first. */
  listScopes(workspaceId: string): Promise<readonly string[]>;
};

export function createIdempotencyKeys(database: Database): IdempotencyKeys {
  return {
    claim: (request) => claimKey(database, request),
    async storeAnswer(scope, key, answer) {
      await database.em.fork().nativeUpdate(IdempotencyKey, { project_id: scope, key }, { answer });
    },
    async release(scope, key) {
      await database.em.fork().nativeDelete(IdempotencyKey, { project_id: scope, key, answer: null });
    },
    listScopes: (workspaceId) => listProjectIds(database, workspaceId),
  };
}

async function claimKey(database: Database, request: ClaimRequest): Promise<ClaimOutcome> {
  const { scope, key, actor, requestHash, now } = request;
  const outdated = outdatedBefore(now).toISOString();
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
  return outcomeOfClaim(row, request);
}

/** Deletes expired keys. Returns their number. */
export async function deleteOldKeys(database: Database, now: Date): Promise<number> {
  return await database.em.fork().nativeDelete(IdempotencyKey, { created_at: { $lt: outdatedBefore(now) } });
}
