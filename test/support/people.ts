import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Role } from '../../src/domain/people/access.ts';
import { SCOPES } from '../../src/domain/people/access.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import { createKey } from '../../src/database/people/keys.ts';
import { Member, Project, User, Workspace } from '../../src/database/people/entities.ts';
import { newApiKey } from '../../src/security/keys.ts';
import { hashPassword } from '../../src/security/passwords.ts';
import { PASSWORD, type World } from './world.ts';

/** Adds a person with a role, as the owner with this cookie. Returns the new person's cookie. */
export async function addPerson(world: World, owner: string, role: Role): Promise<string> {
  const email = `${role}-${randomUUID()}@example.com`;
  const body = { email, role, password: PASSWORD };
  await world.send('POST', '/api/v1/members', { ...world.as(owner), body });
  return await world.signIn(email);
}

/** Creates another workspace. Returns a key of it with all scopes. */
export async function addWorkspace(world: World): Promise<string> {
  const [workspaceId, projectId, now] = [randomUUID(), randomUUID(), new Date()];
  const em = world.database.em.fork();
  await em.insert(Workspace, { id: workspaceId, name: 'Another', created_at: now });
  await em.insert(Project, {
    id: projectId,
    workspace_id: workspaceId,
    key: 'OTHER',
    name: 'Other',
    created_at: now,
  });
  const { key, prefix, hash } = newApiKey();
  await createKey(world.database, {
    secret: { prefix, hash },
    workspaceId,
    projectId,
    name: "A stranger's",
    scopes: [...SCOPES],
    actor: 'system',
    expiresAt: null,
    now,
  });
  return key;
}

/** Creates another workspace with one member, an owner with this password. */
export async function addPersonElsewhere(
  world: World,
  password: string,
): Promise<{ id: string; email: string }> {
  const [workspaceId, id, now] = [randomUUID(), randomUUID(), new Date()];
  const email = `${id}@example.com`;
  const em = world.database.em.fork();
  await em.insert(Workspace, { id: workspaceId, name: 'Another', created_at: now });
  const password_hash = await hashPassword(password);
  await em.insert(User, { id, email, name: 'Elsewhere', password_hash, created_at: now });
  await em.insert(Member, { workspace_id: workspaceId, user_id: id, role: 'owner', created_at: now });
  return { id, email };
}

/** Stores active keys that this person created, without their secrets. They are called `Key 1`, `Key 2` and so on. */
export async function storeKeys(world: World, personId: string, count: number): Promise<void> {
  const { workspace_id: workspaceId, project_id: projectId } = world.installation;
  await sql`
    insert into api_keys (id, workspace_id, project_id, name, prefix, key_hash, scopes, created_by, created_at)
    select gen_random_uuid(), ${workspaceId}::uuid, ${projectId}::uuid, 'Key ' || n, 'bt_test',
      gen_random_uuid()::text, '{}', ${`user:${personId}`}, now()
    from generate_series(1, ${count}::integer) as n
  `.execute(queryBuilderOf(world.database));
}
