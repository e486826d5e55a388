import { DEFAULT_SCOPES, keyPlan } from '../../domain/people/key-plan.ts';
import { DEFAULT_PAGE } from '../../domain/common/limits.ts';
import { createKey, listKeys, revokeKey, rotateKey, type ApiKeyRow } from '../../database/people/keys.ts';
import { findProject } from '../../database/people/projects.ts';
import { newApiKey } from '../../security/keys.ts';
import type { Dependencies } from '../dependencies.ts';
import { cutPage } from '../http/fields.ts';
import { answerWithChange } from '../http/answer-with-change.ts';
import { notFound, Problem } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';
import { presentKey } from './presenter.ts';
import * as schema from './schema.ts';

const PATH = '/api/v1/keys';
const access = { kind: 'person', least: 'admin' } as const;
const tag = 'key';
const HOUR_MS = 3_600_000;

/** Returns the routes of API keys (docs/http-api.md). Admins create, rotate and revoke them. */
export function keyRoutes(deps: Dependencies): Route[] {
  return [list(deps), create(deps), rotate(deps), revoke(deps)];
}

function list(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: PATH,
    operationId: 'listKeys',
    tag,
    summary: 'List keys including revoked ones, newest first',
    access,
    query: schema.keyListParameters,
    responses: { 200: { description: 'A page of keys', schema: schema.keyPage } },
    async handle({
      caller: { workspaceId },
      query: { limit = DEFAULT_PAGE, cursor, project_id: projectId, created_by: creatorId, active },
    }) {
      const activeAt = active ? deps.clock() : undefined;
      const filter = { workspaceId, projectId, creatorId, activeAt, cursor, limit: limit + 1 };
      const found = await listKeys(deps.database, filter);
      const { rows, nextCursor } = cutPage(found, limit);
      return { status: 200, body: { data: rows.map(presentKey), next_cursor: nextCursor } };
    },
  });
}

function create(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: PATH,
    operationId: 'createKey',
    tag,
    summary: 'Create a key for a project',
    access,
    body: keyPlan,
    idempotent: true,
    responses: { 201: { description: 'The key, shown once', schema: schema.newKey } },
    problems: ['project_not_allowed'],
    async handle({ caller, body, claim }) {
      const project = await findProject(deps.database, body.project_id);
      if (project?.workspace_id !== caller.workspaceId) {
        throw new Problem('project_not_allowed', 'The project does not belong to this workspace.');
      }
      const now = deps.clock();
      if (body.expires_at && body.expires_at <= now) throw expiresInThePast();
      const { key, prefix, hash } = newApiKey();
      const answerOf = (made: ApiKeyRow) => ({ status: 201, body: { ...presentKey(made), key } });
      const row = await createKey(deps.database, {
        secret: { prefix, hash },
        workspaceId: caller.workspaceId,
        projectId: body.project_id,
        name: body.name,
        scopes: body.scopes ?? [...DEFAULT_SCOPES],
        actor: caller.actor,
        expiresAt: body.expires_at ?? null,
        now,
        withChange: answerWithChange(deps, claim, answerOf),
      });
      if (!row) throw new Problem('forbidden', 'You are not an admin of this workspace anymore.');
      return answerOf(row);
    },
  });
}

function rotate(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${PATH}/{id}/rotate`,
    operationId: 'rotateKey',
    tag,
    summary: 'Replace a key with a new one; the old key stays valid during the overlap',
    access,
    params: schema.keyParams,
    body: schema.rotation,
    bodyOptional: true,
    idempotent: true,
    responses: { 201: { description: 'The new key, shown once', schema: schema.newKey } },
    problems: ['invalid_state'],
    async handle({ caller: { workspaceId, actor }, params: { id }, body, claim }) {
      const now = deps.clock();
      const hours = body?.overlap_hours ?? schema.DEFAULT_OVERLAP_HOURS;
      const oldUntil = new Date(now.getTime() + hours * HOUR_MS);
      const { key, prefix, hash } = newApiKey();
      const secret = { prefix, hash };
      const answerOf = (row: ApiKeyRow) => ({ status: 201, body: { ...presentKey(row), key } });
      const withChange = answerWithChange(deps, claim, answerOf);
      const which = { workspaceId, id, actor, now, oldUntil, secret, withChange };
      const made = await rotateKey(deps.database, which);
      deps.knownKeys.invalidate();
      if (!made) throw notFound('key');
      if (made === 'dead') {
        throw new Problem(
          'invalid_state',
          'The key is revoked, expired or already replaced. Create a new key.',
        );
      }
      return answerOf(made);
    },
  });
}

function revoke(deps: Dependencies): Route {
  return route({
    method: 'delete',
    path: `${PATH}/{id}`,
    operationId: 'revokeKey',
    tag,
    summary: 'Revoke a key immediately',
    access,
    params: schema.keyParams,
    responses: { 204: { description: 'Revoked, or already revoked' } },
    async handle({ caller: { workspaceId, actor }, params: { id } }) {
      const row = await revokeKey(deps.database, { workspaceId, id, actor, now: deps.clock() });
      deps.knownKeys.invalidate();
      if (!row) throw notFound('key');
      return { status: 204 };
    },
  });
}

function expiresInThePast(): Problem {
  const message = '`expires_at` must be in the future.';
  return new Problem('validation_failed', message, {
    errors: [{ pointer: '/expires_at', code: 'not_allowed', message }],
  });
}
