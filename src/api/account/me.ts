import { z } from 'zod';
import { hasRole, ROLES, SCOPES } from '../../domain/people/access.ts';
import { MAX_PAGE } from '../../domain/common/limits.ts';
import { findPasswordHash } from '../../database/people/passwords.ts';
import { findWorkspace, listProjects } from '../../database/people/projects.ts';
import type { Dependencies } from '../dependencies.ts';
import type { PersonCaller } from '../http/caller.ts';
import { uuidOut } from '../http/fields.ts';
import { route, type Route } from '../http/route.ts';

const me = z
  .strictObject({
    kind: z.enum(['key', 'token', 'person']),
    label: z.string().describe('Name of this caller in other objects, for example in `paused_by`'),
    workspace: z.strictObject({ id: uuidOut, name: z.string() }),
    project: z
      .strictObject({ id: uuidOut, key: z.string(), name: z.string() })
      .nullable()
      .describe('Project of the key or token'),
    project_id: uuidOut.nullable(),
    projects: z
      .array(z.strictObject({ id: uuidOut, key: z.string(), name: z.string() }))
      .describe(
        `Projects that the caller can access, newest first, at most ${MAX_PAGE}; \`/api/v1/projects\` lists all`,
      ),
    scopes: z.array(z.enum(SCOPES)),
    role: z.enum(ROLES).nullable(),
    user: z
      .strictObject({
        id: uuidOut,
        email: z.string(),
        name: z.string(),
        has_password: z.boolean().describe('False for a user who signs in only with the OpenID provider'),
      })
      .nullable(),
    key: z.strictObject({ id: uuidOut, prefix: z.string(), name: z.string() }).nullable(),
    temporal: z
      .strictObject({ ui_url: z.string(), namespace: z.string() })
      .nullable()
      .describe('Temporal Web UI with the workflows of runs, for members and admins; null if not configured'),
  })
  .meta({ id: 'Me' });

/** Returns the route that describes the caller and its permissions. */
export function meRoutes(deps: Dependencies): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/v1/me',
      operationId: 'readMe',
      tag: 'me',
      summary: 'Get the caller',
      access: { kind: 'credential', scope: null },
      responses: { 200: { description: 'The caller', schema: me } },
      async handle({ caller }) {
        const workspace = await findWorkspace(deps.database, caller.workspaceId);
        const { workspaceId, projectId: id } = caller;
        const rows = await listProjects(deps.database, { workspaceId, id, limit: MAX_PAGE });
        const projects = rows.map((row) => ({ id: row.id, key: row.key, name: row.name }));
        const body = {
          kind: caller.kind,
          label: caller.label,
          workspace: { id: caller.workspaceId, name: workspace?.name ?? '' },
          project: id === null ? null : (projects[0] ?? null),
          project_id: id,
          projects,
          scopes: caller.scopes,
          role: caller.kind === 'person' ? caller.role : null,
          user: caller.kind === 'person' ? await userOf(deps, caller) : null,
          key: caller.kind === 'key' ? { id: caller.keyId, prefix: caller.prefix, name: caller.name } : null,
          temporal: caller.kind === 'person' && hasRole(caller.role, 'member') ? temporalOf(deps) : null,
        };
        return { status: 200, body };
      },
    }),
  ];
}

async function userOf({ database }: Dependencies, { userId: id, email, name }: PersonCaller) {
  return { id, email, name, has_password: (await findPasswordHash(database, id)) !== null };
}

function temporalOf({ temporalUi }: Dependencies) {
  return temporalUi && { ui_url: temporalUi.url, namespace: temporalUi.namespace };
}
