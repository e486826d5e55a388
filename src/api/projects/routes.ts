import { z } from 'zod';
import { DEFAULT_PAGE } from '../../domain/common/limits.ts';
import { projectPlan } from '../../domain/people/project-plan.ts';
import { projectKeyFrom } from '../../domain/common/text.ts';
import { createProject, listProjects, type ProjectRow } from '../../database/people/projects.ts';
import type { Dependencies } from '../dependencies.ts';
import { cutPage, pageOf, pageParameters, timestamp, uuidOut } from '../http/fields.ts';
import { answerWithChange } from '../http/answer-with-change.ts';
import { Problem } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';

const PATH = '/api/v1/projects';
const tag = 'project';
const project = z
  .strictObject({ id: uuidOut, key: z.string(), name: z.string(), created_at: timestamp })
  .meta({ id: 'Project' });

/** Returns the routes of projects. A key or token sees only its own project. */
export function projectRoutes(deps: Dependencies): Route[] {
  return [list(deps), create(deps)];
}

function list(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: PATH,
    operationId: 'listProjects',
    tag,
    summary: 'List projects, newest first',
    access: { kind: 'credential', scope: null },
    query: z.strictObject(pageParameters),
    responses: {
      200: { description: 'A page of projects', schema: pageOf(project).meta({ id: 'ProjectPage' }) },
    },
    async handle({ caller, query: { limit = DEFAULT_PAGE, cursor } }) {
      const page = { workspaceId: caller.workspaceId, id: caller.projectId, cursor, limit: limit + 1 };
      const { rows, nextCursor } = cutPage(await listProjects(deps.database, page), limit);
      return { status: 200, body: { data: rows.map(present), next_cursor: nextCursor } };
    },
  });
}

function create(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: PATH,
    operationId: 'createProject',
    tag,
    summary: 'Create a project',
    access: { kind: 'person', least: 'admin' },
    body: projectPlan,
    idempotent: true,
    responses: { 201: { description: 'The project', schema: project } },
    problems: ['conflict'],
    async handle({ caller: { workspaceId, actor }, body, claim }) {
      const key = body.key ?? projectKeyFrom(body.name);
      const row = await createProject(deps.database, {
        workspaceId,
        key,
        name: body.name,
        actor,
        now: deps.clock(),
        withChange: answerWithChange(deps, claim, createdProject),
      });
      if (!row)
        throw new Problem(
          'conflict',
          `The workspace already has a project with the key ${key}. Choose another key.`,
        );
      return createdProject(row);
    },
  });
}

function createdProject(row: ProjectRow) {
  return { status: 201, body: present(row) };
}

function present(row: ProjectRow) {
  return { id: row.id, key: row.key, name: row.name, created_at: row.created_at.toISOString() };
}
