import { randomUUIDv7 } from 'node:crypto';
import type { InferEntity } from '@mikro-orm/core';
import { recordAudit } from './audit.ts';
import type { Database, WithChange } from '../database.ts';
import { Project, Workspace } from './entities.ts';
import { isDuplicate } from '../common/outage.ts';

export type ProjectRow = InferEntity<typeof Project>;
export type WorkspaceRow = InferEntity<typeof Workspace>;

/** Returns a project by its id, in any workspace; null if there is none. */
export async function findProject(database: Database, id: string): Promise<ProjectRow | null> {
  return await database.em.fork().findOne(Project, { id });
}

export async function findWorkspace(database: Database, id: string): Promise<WorkspaceRow | null> {
  return await database.em.fork().findOne(Workspace, { id });
}

/** Returns the ids of all projects of a workspace, the oldest first. */
export async function listProjectIds(database: Database, workspaceId: string): Promise<string[]> {
  const rows = await database.em
    .fork()
    .find(Project, { workspace_id: workspaceId }, { fields: ['id'], orderBy: { id: 'asc' } });
  return rows.map((row) => row.id);
}

/** Returns a page of a workspace's projects, newest first; only one project if `id` is given. */
export async function listProjects(
  database: Database,
  page: { workspaceId: string; id: string | null; cursor?: string | undefined; limit: number },
): Promise<ProjectRow[]> {
  return await database.em.fork().find(
    Project,
    {
      workspace_id: page.workspaceId,
      $and: [page.id ? { id: page.id } : {}, page.cursor ? { id: { $lt: page.cursor } } : {}],
    },
    { orderBy: { id: 'desc' }, limit: page.limit },
  );
}

/** Creates a project. Returns null if the workspace has one with this key. */
export async function createProject(
  database: Database,
  plan: {
    workspaceId: string;
    key: string;
    name: string;
    actor: string;
    now: Date;
    withChange?: WithChange<ProjectRow> | undefined;
  },
): Promise<ProjectRow | null> {
  const id = randomUUIDv7();
  const { workspaceId, key, name, now } = plan;
  try {
    return await database.em.fork().transactional(async (em) => {
      const row = em.create(Project, { id, workspace_id: workspaceId, key, name, created_at: now });
      await em.persist(row).flush();
      const subject = `project:${id}`;
      await recordAudit(em, {
        workspaceId,
        actor: plan.actor,
        action: 'project.created',
        subject,
        detail: { key, name },
        at: now,
      });
      await plan.withChange?.(em, row);
      return row;
    });
  } catch (error) {
    if (isDuplicate(error)) return null;
    throw error;
  }
}
