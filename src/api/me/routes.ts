import { z } from 'zod';
import { ROLES, SCOPES } from '../../domain/access.ts';
import { findProject, findWorkspace } from '../../database/projects.ts';
import type { Dependencies } from '../dependencies.ts';
import { uuidOut } from '../http/fields.ts';
import { route, type Route } from '../http/route.ts';

const me = z
  .strictObject({
    kind: z.enum(['key', 'token', 'person']),
    label: z.string().describe('How this caller is named where it acts, for example in `paused_by`'),
    workspace: z.strictObject({ id: uuidOut, name: z.string() }),
    project: z
      .strictObject({ id: uuidOut, key: z.string(), name: z.string() })
      .nullable()
      .describe('The one project of a key or token'),
    project_id: uuidOut.nullable(),
    scopes: z.array(z.enum(SCOPES)),
    role: z.enum(ROLES).nullable(),
    user: z.strictObject({ id: uuidOut, email: z.string(), name: z.string() }).nullable(),
    key: z.strictObject({ id: uuidOut, prefix: z.string(), name: z.string() }).nullable(),
    temporal: z
      .strictObject({ ui_url: z.string(), namespace: z.string() })
      .nullable()
      .describe('Where people see the workflows of runs in the Temporal Web UI, if that is known here'),
  })
  .meta({ id: 'Me' });

/** What a credential is and may do. */
export function meRoutes(deps: Dependencies): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/v1/me',
      operationId: 'readMe',
      tag: 'me',
      summary: 'Who you are here',
      access: { kind: 'credential', scope: null },
      answers: { 200: { description: 'The caller', schema: me } },
      async handle({ caller }) {
        const workspace = await findWorkspace(deps.database, caller.workspaceId);
        const project = caller.projectId === null ? null : await findProject(deps.database, caller.projectId);
        const body = {
          kind: caller.kind,
          label: caller.label,
          workspace: { id: caller.workspaceId, name: workspace?.name ?? '' },
          project: project && { id: project.id, key: project.key, name: project.name },
          project_id: caller.projectId,
          scopes: caller.scopes,
          role: caller.kind === 'person' ? caller.role : null,
          user:
            caller.kind === 'person' ? { id: caller.userId, email: caller.email, name: caller.name } : null,
          key: caller.kind === 'key' ? { id: caller.keyId, prefix: caller.prefix, name: caller.name } : null,
          temporal: caller.kind === 'person' ? temporalOf(deps) : null,
        };
        return { status: 200, body };
      },
    }),
  ];
}

function temporalOf({ temporalUi }: Dependencies) {
  return temporalUi && { ui_url: temporalUi.url, namespace: temporalUi.namespace };
}
