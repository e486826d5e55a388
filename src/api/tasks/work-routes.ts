import { findArtifact, listArtifacts } from '../../database/tasks/artifacts.ts';
import { listCalls } from '../../database/agents/call-list.ts';
import { DEFAULT_PAGE } from '../../domain/common/limits.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';
import { download, presentArtifact } from './artifacts.ts';
import { cursorAt, presentCall } from './calls.ts';
import { openRun } from './read.ts';
import { taskParams } from './schema.ts';
import * as schema from './work-schema.ts';

const ONE = '/api/v1/tasks/{execution_id}';
const reads = { kind: 'credential', scope: 'tasks:read' } as const;
const tag = 'task';

/** Returns the routes of the calls and documents of a run's agents. */
export function workRoutes(deps: Dependencies): Route[] {
  return [calls(deps), artifacts(deps), artifact(deps)];
}

function calls(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: `${ONE}/calls`,
    operationId: 'listTaskCalls',
    tag,
    summary: 'List model and tool calls, in start order',
    description: 'Lists completed calls. Long input and output is truncated. Running calls are not included.',
    access: reads,
    params: taskParams,
    query: schema.callParameters,
    responses: { 200: { description: 'A page of calls', schema: schema.callPage } },
    async handle({ caller, params, query: { limit = DEFAULT_PAGE, cursor = null, kind = null } }) {
      const run = await openRun(deps, caller, params.execution_id);
      const found = await listCalls(deps.database, run.id, { kind, cursor, limit: limit + 1 });
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      const data = page.map((call) => presentCall(call, run));
      return { status: 200, body: { data, next_cursor: last ? cursorAt(last) : null } };
    },
  });
}

function artifacts(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: `${ONE}/artifacts`,
    operationId: 'listTaskArtifacts',
    tag,
    summary: 'List the documents of a run',
    access: reads,
    params: taskParams,
    responses: { 200: { description: 'The documents, without content', schema: schema.artifactList } },
    async handle({ caller, params }) {
      const run = await openRun(deps, caller, params.execution_id);
      const rows = await listArtifacts(deps.database, run.id);
      return { status: 200, body: { data: rows.map((row) => presentArtifact(row, run, deps.baseUrl)) } };
    },
  });
}

function artifact(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: `${ONE}/artifacts/{name}`,
    operationId: 'downloadTaskArtifact',
    tag,
    summary: 'Download a document',
    description:
      'Always sent as an attachment (`Content-Disposition: attachment`) with its stored media type. Types that a browser would execute or render are sent as plain bytes.',
    access: reads,
    params: schema.artifactParams,
    responses: {
      200: {
        description: 'The content',
        mediaTypes: ['*/*'],
        headers: { 'Content-Disposition': 'File name' },
      },
    },
    async handle({ caller, params }) {
      const run = await openRun(deps, caller, params.execution_id);
      const found = await findArtifact(deps.database, run.id, params.name);
      if (!found) throw notFound('document');
      return download(params.name, found);
    },
  });
}
