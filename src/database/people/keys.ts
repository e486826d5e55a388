import { randomUUIDv7 } from 'node:crypto';
import { LockMode } from '@mikro-orm/core';
import { sql } from 'kysely';
import type { Scope } from '../../domain/people/access.ts';
import { recordAudit, type EntityManager } from './audit.ts';
import { queryBuilderOf, type Database, type WithChange } from '../database.ts';
import { ApiKey } from './entities.ts';
import {
  lockCreator,
  personActor,
  withCreator,
  withCreators,
  type ApiKeyRow,
  type StoredKey,
} from './key-creators.ts';

export type { ApiKeyRow } from './key-creators.ts';

/** An active key, with the fields that requests need. */
export type ActiveKey = {
  id: string;
  workspace_id: string;
  project_id: string;
  name: string;
  prefix: string;
  scopes: Scope[];
  expires_at: Date | null;
};

const ACTIVE_KEY_COLUMNS = [
  'id',
  'workspace_id',
  'project_id',
  'name',
  'prefix',
  'scopes',
  'expires_at',
] as const;

/** Returns the key with this hash or id, unless it is revoked or expired. One index lookup. */
export async function findActiveKey(
  database: Database,
  by: { hash: string } | { id: string },
): Promise<ActiveKey | null> {
  const [column, value] = 'hash' in by ? (['key_hash', by.hash] as const) : (['id', by.id] as const);
  const row = await queryBuilderOf(database)
    .selectFrom('api_keys')
    .select([...ACTIVE_KEY_COLUMNS])
    .where(column, '=', value as never)
    .where('revoked_at', 'is', null)
    .where(sql<boolean>`(expires_at is null or expires_at > now())`)
    .executeTakeFirst();
  if (!row) return null;
  return { ...row, expires_at: row.expires_at === null ? null : new Date(row.expires_at) };
}

/** Records when a key was last used. */
export async function recordKeyUse(database: Database, id: string, at: Date): Promise<void> {
  await database.em.fork().nativeUpdate(ApiKey, { id }, { last_used_at: at });
}

/** Which keys of a workspace are listed. `activeAt`: only keys that are valid at this time. */
export type KeyFilter = {
  workspaceId: string;
  projectId?: string | undefined;
  creatorId?: string | undefined;
  activeAt?: Date | undefined;
  cursor?: string | undefined;
  limit: number;
};

/** Returns a page of a workspace's keys, newest first. */
export async function listKeys(database: Database, filter: KeyFilter): Promise<ApiKeyRow[]> {
  const { workspaceId, projectId, creatorId, activeAt, cursor, limit } = filter;
  const em = database.em.fork();
  const where = [
    { workspace_id: workspaceId },
    ...(projectId === undefined ? [] : [{ project_id: projectId }]),
    ...(creatorId === undefined ? [] : [{ created_by: personActor(creatorId) }]),
    ...(activeAt === undefined ? [] : [whereActive(activeAt)]),
    ...(cursor === undefined ? [] : [{ id: { $lt: cursor } }]),
  ];
  return await withCreators(em, await em.find(ApiKey, { $and: where }, { orderBy: { id: 'desc' }, limit }));
}

function whereActive(now: Date) {
  return { revoked_at: null, $or: [{ expires_at: null }, { expires_at: { $gt: now } }] };
}

/** The stored parts of a new key: its prefix and its hash, never the key. */
export type StoredSecret = { prefix: string; hash: string };

export type KeyPlan = {
  secret: StoredSecret;
  workspaceId: string;
  projectId: string;
  name: string;
  scopes: Scope[];
  actor: string;
  expiresAt: Date | null;
  now: Date;
};

/** Stores a key and its audit entry. Returns null if the person is no longer an admin. */
export async function createKey(
  database: Database,
  plan: KeyPlan & { withChange?: WithChange<ApiKeyRow> | undefined },
): Promise<ApiKeyRow | null> {
  return await database.em.fork().transactional(async (em) => {
    if (!(await lockCreator(em, plan))) return null;
    const row = await insertKey(em, plan);
    await recordAudit(em, {
      workspaceId: plan.workspaceId,
      actor: plan.actor,
      action: 'key.created',
      subject: `key:${row.id}`,
      detail: { prefix: row.prefix, name: plan.name, project_id: plan.projectId, scopes: plan.scopes },
      at: plan.now,
    });
    const whole = await withCreator(em, row);
    await plan.withChange?.(em, whole);
    return whole;
  });
}

/** Revokes a key of the workspace immediately. Returns null if there is none. A revoked key stays unchanged. */
export async function revokeKey(
  database: Database,
  which: { workspaceId: string; id: string; actor: string; now: Date },
): Promise<StoredKey | null> {
  return await database.em.fork().transactional(async (em) => {
    const row = await lockKey(em, which);
    if (row && !row.revoked_at) await revoke(em, row, which);
    return row;
  });
}

/** Revokes the active keys that a person created. Called in the transaction that removes the member. */
export async function revokeKeysOf(
  em: EntityManager,
  which: { workspaceId: string; userId: string; actor: string; now: Date },
): Promise<void> {
  const theirs = { workspace_id: which.workspaceId, created_by: personActor(which.userId) };
  const rows = await em.find(
    ApiKey,
    { $and: [theirs, whereActive(which.now)] },
    { lockMode: LockMode.PESSIMISTIC_WRITE, orderBy: { id: 'asc' } },
  );
  for (const row of rows) await revoke(em, row, which);
}

async function revoke(
  em: EntityManager,
  row: StoredKey,
  { workspaceId, actor, now }: { workspaceId: string; actor: string; now: Date },
): Promise<void> {
  row.revoked_at = now;
  const detail = { prefix: row.prefix, name: row.name };
  await recordAudit(em, {
    workspaceId,
    actor,
    action: 'key.revoked',
    subject: `key:${row.id}`,
    detail,
    at: now,
  });
}

/**
 * Creates a key with the same name, project, scopes and expiry as another, which stays valid until `oldUntil`. Returns
 * null if there is no such key, `'dead'` if it is revoked, expired or replaced already.
 */
export async function rotateKey(
  database: Database,
  which: {
    workspaceId: string;
    id: string;
    actor: string;
    now: Date;
    oldUntil: Date;
    secret: StoredSecret;
    withChange?: WithChange<ApiKeyRow> | undefined;
  },
): Promise<ApiKeyRow | 'dead' | null> {
  return await database.em.fork().transactional(async (em) => {
    if (!(await lockCreator(em, which))) return null;
    const old = await lockKey(em, which);
    if (!old) return null;
    if (old.revoked_at || old.replaced_by || (old.expires_at && old.expires_at <= which.now)) return 'dead';
    const made = await insertKey(em, {
      secret: which.secret,
      workspaceId: old.workspace_id,
      projectId: old.project_id,
      name: old.name,
      scopes: old.scopes,
      actor: which.actor,
      expiresAt: old.expires_at ?? null,
      now: which.now,
    });
    old.replaced_by = made.id;
    if (!old.expires_at || old.expires_at > which.oldUntil) old.expires_at = which.oldUntil;
    await recordAudit(em, {
      workspaceId: which.workspaceId,
      actor: which.actor,
      action: 'key.rotated',
      subject: `key:${old.id}`,
      detail: { prefix: old.prefix, replaced_by: made.id, old_until: which.oldUntil.toISOString() },
      at: which.now,
    });
    const whole = await withCreator(em, made);
    await which.withChange?.(em, whole);
    return whole;
  });
}

async function lockKey(
  em: EntityManager,
  which: { workspaceId: string; id: string },
): Promise<StoredKey | null> {
  const { workspaceId, id } = which;
  return await em.findOne(
    ApiKey,
    { workspace_id: workspaceId, id },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
}

async function insertKey(em: EntityManager, plan: KeyPlan): Promise<StoredKey> {
  const row = em.create(ApiKey, {
    id: randomUUIDv7(),
    workspace_id: plan.workspaceId,
    project_id: plan.projectId,
    name: plan.name,
    prefix: plan.secret.prefix,
    key_hash: plan.secret.hash,
    scopes: plan.scopes,
    created_by: plan.actor,
    created_at: plan.now,
    expires_at: plan.expiresAt,
    last_used_at: null,
    revoked_at: null,
    replaced_by: null,
  });
  await em.persist(row).flush();
  return row;
}
