import { LockMode, type InferEntity } from '@mikro-orm/core';
import { hasRole } from '../../domain/people/access.ts';
import type { EntityManager } from './audit.ts';
import { Member, User, type ApiKey } from './entities.ts';

/** A key as the database stores it. */
export type StoredKey = InferEntity<typeof ApiKey>;

/** The person who created a key. `removed`: the person is not a member of the workspace anymore. */
export type KeyCreator = { id: string; name: string; email: string; removed: boolean };

/** A key with the person who created it; null if the installation created it. */
export type ApiKeyRow = StoredKey & { creator: KeyCreator | null };

/**
 * Locks the membership of the person who creates a key, so that removing the member waits and finds the key. Returns
 * false if the person is no longer an admin.
 */
export async function lockCreator(
  em: EntityManager,
  { workspaceId, actor }: { workspaceId: string; actor: string },
): Promise<boolean> {
  const userId = personIn(actor);
  if (userId === null) return true;
  const which = { workspace_id: workspaceId, user_id: userId };
  const member = await em.findOne(Member, which, { lockMode: LockMode.PESSIMISTIC_READ });
  return member !== null && hasRole(member.role, 'admin');
}

/** Adds to a key who created it. */
export async function withCreator(em: EntityManager, row: StoredKey): Promise<ApiKeyRow> {
  const [whole] = await withCreators(em, [row]);
  if (!whole) throw new Error('a key was lost');
  return whole;
}

/** Adds to keys of one workspace who created them. */
export async function withCreators(em: EntityManager, rows: StoredKey[]): Promise<ApiKeyRow[]> {
  const ids = [...new Set(rows.flatMap((row) => personIn(row.created_by) ?? []))];
  const [workspace] = rows;
  const people = workspace ? await em.find(User, { id: { $in: ids } }) : [];
  const which = { workspace_id: workspace?.workspace_id ?? '', user_id: { $in: ids } };
  const members = people.length > 0 ? await em.find(Member, which) : [];
  const present = new Set(members.map((member) => member.user_id));
  const creators = new Map(
    people.map(({ id, name, email }) => [personActor(id), { id, name, email, removed: !present.has(id) }]),
  );
  return rows.map((row) => Object.assign(row, { creator: creators.get(row.created_by) ?? null }));
}

const PERSON = 'user:';

/** Returns the actor of a person, as rows and the audit log name it. */
export function personActor(id: string): string {
  return `${PERSON}${id}`;
}

/** Returns the id of the person; null if the actor is none. */
export function personIn(actor: string): string | null {
  return actor.startsWith(PERSON) ? actor.slice(PERSON.length) : null;
}
