import { z } from 'zod';
import { findProject } from '../../database/people/projects.ts';
import { createRateLimiter } from '../../domain/common/rate-limiter.ts';
import type { TokenSubject } from '../../domain/people/access.ts';
import type { Dependencies } from '../dependencies.ts';
import { tryToRecordRequest } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { fieldProblem, timestamp, uuid } from '../http/fields.ts';
import { Problem } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';

const request = z
  .strictObject({
    project_id: uuid.optional().describe('Required with a session; with a key, the project of the key'),
  })
  .meta({ id: 'TokenRequest' });

const issued = z
  .strictObject({ token: z.string(), token_type: z.literal('Bearer'), expires_at: timestamp })
  .meta({ id: 'Token' });

/**
 * Returns the route that issues short-lived JWTs for one project (docs/channel.md), such as a browser puts into the
 * WebSocket URL.
 */
export function tokenRoutes(deps: Dependencies): Route[] {
  const firstInHour = createRateLimiter({ name: 'audit', perSecond: 1 / 3_600, burst: 1 }, deps.clock);
  /** Viewers get new tokens every few minutes: the audit log has one entry an hour for each credential and project. */
  async function recordCreation({ workspaceId, actor }: Caller, projectId: string): Promise<void> {
    if (!firstInHour.take(`${actor} ${projectId}`).granted) return;
    const subject = `project:${projectId}`;
    await tryToRecordRequest(deps, { workspaceId, actor, action: 'token.created', subject });
  }
  return [
    route({
      method: 'post',
      path: '/api/v1/tokens',
      operationId: 'createToken',
      tag: 'token',
      summary: 'Create a token for one project, valid for 15 minutes',
      access: { kind: 'credential', scope: null },
      body: request,
      bodyOptional: true,
      idempotent: true,
      responses: { 201: { description: 'The token', schema: issued } },
      problems: ['project_not_allowed'],
      async handle({ caller, body }) {
        const { workspaceId, scopes } = caller;
        const projectId = await projectFor(deps, caller, body?.project_id);
        const subject = subjectOf(caller);
        const sessionId = caller.kind === 'person' ? caller.sessionId : null;
        const claims = { subject, workspaceId, projectId, scopes, sessionId };
        const { token, expiresAt } = await deps.tokens.issue(claims);
        await recordCreation(caller, projectId);
        return { status: 201, body: { token, token_type: 'Bearer', expires_at: expiresAt.toISOString() } };
      },
    }),
  ];
}

async function projectFor(deps: Dependencies, caller: Caller, wanted: string | undefined): Promise<string> {
  if (caller.kind !== 'person') {
    if (wanted === undefined || wanted === caller.projectId) return caller.projectId;
  } else {
    if (wanted === undefined) {
      const { message } = fieldProblem('required', '`project_id` is required with a session.');
      throw new Problem('validation_failed', message, {
        errors: [{ pointer: '/project_id', code: 'required', message }],
      });
    }
    const project = await findProject(deps.database, wanted);
    if (project?.workspace_id === caller.workspaceId) return wanted;
  }
  throw new Problem('project_not_allowed', 'The credential has no access to this project.');
}

/** A token cannot create a token; otherwise it could be renewed without end. */
function subjectOf(caller: Caller): TokenSubject {
  if (caller.kind === 'token') throw new Problem('forbidden', 'A token cannot create another token.');
  return caller.kind === 'key' ? `key:${caller.keyId}` : `user:${caller.userId}`;
}
