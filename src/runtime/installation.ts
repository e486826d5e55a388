import { randomUUIDv7 } from 'node:crypto';
import type { Scope } from '../domain/people/access.ts';
import { projectKeyFrom } from '../domain/common/text.ts';
import { keyOf, newApiKey, type NewKey } from '../security/keys.ts';
import { hashPassword, newPassword } from '../security/passwords.ts';
import { recordAudit, type EntityManager } from '../database/people/audit.ts';
import { lockByName } from '../database/common/lock.ts';
import { connectDatabase } from '../database/connect.ts';
import { ApiKey, Member, Project, User, Workspace } from '../database/people/entities.ts';

/** The input of the first setup. A missing key or password is generated. */
export type InstallationPlan = {
  workspaceName: string;
  projectName: string;
  /** Short upper-case key of the project; default: derived from its name. */
  projectKey?: string;
  adminEmail: string;
  adminName?: string;
  adminPassword?: string;
  apiKey?: string;
};

/** The result of the first setup. Key and password are shown once. */
export type Installation = {
  workspace_id: string;
  project_id: string;
  api_key: string;
  admin_email: string;
  admin_password: string;
};

export class AlreadyInstalled extends Error {
  override name = 'AlreadyInstalled';
}

const FIRST_KEY_SCOPES: Scope[] = [
  'tasks:read',
  'tasks:write',
  'events:write',
  'webhooks:read',
  'webhooks:write',
];

/**
 * Creates the first workspace, its project, its owner and an API key in a migrated database, in one transaction.
 * @throws AlreadyInstalled if a workspace exists
 */
export async function setUpInstallation(databaseUrl: string, plan: InstallationPlan): Promise<Installation> {
  const database = await connectDatabase(databaseUrl, 1);
  try {
    return await database.em.fork().transactional(async (em) => {
      await lockByName(em, 'installation');
      if ((await em.count(Workspace)) > 0) {
        throw new AlreadyInstalled('this database already has a workspace');
      }
      return await createWorkspace(em, plan);
    });
  } finally {
    await database.close();
  }
}

/** Creates a workspace with its project, its owner and an API key. @throws if the owner's email is in use */
export async function createWorkspace(em: EntityManager, plan: InstallationPlan): Promise<Installation> {
  const password = plan.adminPassword ?? newPassword();
  const key = plan.apiKey === undefined ? newApiKey() : keyOf(plan.apiKey);
  const secrets = { key, passwordHash: await hashPassword(password) };
  return {
    ...(await insertAll(em, plan, secrets, new Date())),
    api_key: key.key,
    admin_email: plan.adminEmail.toLowerCase(),
    admin_password: password,
  };
}

async function insertAll(
  em: EntityManager,
  plan: InstallationPlan,
  secrets: { key: NewKey; passwordHash: string },
  now: Date,
): Promise<{ workspace_id: string; project_id: string }> {
  const workspaceId = randomUUIDv7();
  const projectId = randomUUIDv7();
  const userId = randomUUIDv7();
  const email = plan.adminEmail.toLowerCase();
  await em.insert(Workspace, { id: workspaceId, name: plan.workspaceName, created_at: now });
  await em.insert(Project, {
    id: projectId,
    workspace_id: workspaceId,
    key: plan.projectKey ?? projectKeyFrom(plan.projectName),
    name: plan.projectName,
    created_at: now,
  });
  await em.insert(User, {
    id: userId,
    email,
    name: plan.adminName ?? email.split('@')[0] ?? email,
    password_hash: secrets.passwordHash,
    created_at: now,
  });
  await em.insert(Member, { workspace_id: workspaceId, user_id: userId, role: 'owner', created_at: now });
  await em.insert(ApiKey, {
    id: randomUUIDv7(),
    workspace_id: workspaceId,
    project_id: projectId,
    name: 'First key',
    prefix: secrets.key.prefix,
    key_hash: secrets.key.hash,
    scopes: FIRST_KEY_SCOPES,
    created_by: `user:${userId}`,
    created_at: now,
  });
  const subject = `workspace:${workspaceId}`;
  await recordAudit(em, { workspaceId, actor: 'system', action: 'installation.created', subject, at: now });
  return { workspace_id: workspaceId, project_id: projectId };
}
