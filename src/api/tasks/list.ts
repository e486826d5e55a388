import { findActors, readActorLabels } from '../../database/people/actors.ts';
import { listProjectIds } from '../../database/people/projects.ts';
import { listRuns, type RunFilter } from '../../database/tasks/task-runs.ts';
import { DEFAULT_PAGE } from '../../domain/common/limits.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { Problem } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';
import { presentListed } from './presenter.ts';
import { listPage, listParameters, type TaskFilter } from './schema.ts';

/** Returns the route that lists, filters and searches tasks (docs/http-api.md). */
export function listRoute(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: '/api/v1/tasks',
    operationId: 'listTasks',
    tag: 'task',
    summary: 'List and search tasks, newest first',
    description:
      'In addition to the named parameters, `metadata.<name>=<value>` returns only runs whose metadata has this value in this field. With filters, a page may have fewer rows than `limit`, even none, although `next_cursor` is not null: read on until it is null.',
    access: { kind: 'credential', scope: 'tasks:read' },
    query: listParameters,
    responses: { 200: { description: 'A page of runs', schema: listPage } },
    async handle({ caller, query }) {
      const page = {
        ...(query.cursor ? { cursor: query.cursor } : {}),
        limit: query.limit ?? DEFAULT_PAGE,
      };
      const filter = { ...(await filterOf(deps, caller, query)), ...page };
      const { rows, nextCursor } = await listRuns(deps.database, filter);
      const labelOf = await readActorLabels(
        deps.database,
        rows.map((row) => row.created_by),
      );
      const data = rows.map((row) => presentListed(row, { baseUrl: deps.baseUrl, labelOf }));
      return { status: 200, body: { data, next_cursor: nextCursor } };
    },
  });
}

/**
 * Returns the runs that parameters describe.
 * @throws Problem `project_not_allowed` if the caller has no access to the project
 */
export async function filterOf(
  deps: Dependencies,
  caller: Caller,
  query: TaskFilter,
): Promise<Omit<RunFilter, 'cursor' | 'limit'>> {
  const all =
    caller.kind === 'person' ? await listProjectIds(deps.database, caller.workspaceId) : [caller.projectId];
  if (query.project_id && !all.includes(query.project_id)) {
    throw new Problem('project_not_allowed', 'The credential has no access to this project.');
  }
  return {
    projectIds: query.project_id ? [query.project_id] : all,
    ...(query.state ? { states: query.state } : {}),
    ...(query.task_type ? { taskTypes: query.task_type } : {}),
    ...(query.errors ? { errorCodes: query.errors } : {}),
    ...(query.created_after ? { createdAfter: query.created_after } : {}),
    ...(query.created_before ? { createdBefore: query.created_before } : {}),
    ...(query.created_by ? { createdBy: await submittersOf(deps, caller, query.created_by) } : {}),
    ...(query.needs_me ? { needsPerson: true } : {}),
    ...(query.q ? { search: query.q } : {}),
    metadata: metadataOf(query),
  };
}

/** Returns the submitters that a filter names. */
async function submittersOf(
  { database }: Dependencies,
  { actor, workspaceId }: Caller,
  label: string,
): Promise<string[]> {
  return label === 'me' ? [actor] : await findActors(database, { workspaceId, label });
}

function metadataOf(query: Record<string, unknown>): Record<string, string> {
  const given = Object.entries(query).filter(([name]) => name.startsWith('metadata.'));
  return Object.fromEntries(given.map(([name, value]) => [name.slice('metadata.'.length), String(value)]));
}
