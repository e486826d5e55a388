import assert from 'node:assert/strict';
import type { z } from 'zod';
import { allRoutes } from '../../src/api/app.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { scopesOf, type Access, type Route } from '../../src/api/http/route.ts';

/** What each operation requires: a scope, or the least role of a person. Also what is repeated safely, and its rate limit. */
const REQUIRED = `
  post /api/v1/tasks tasks:write idempotent
  get /api/v1/tasks tasks:read
  get /api/v1/tasks/{execution_id} tasks:read
  post /api/v1/tasks/{execution_id}/pause tasks:write
  post /api/v1/tasks/{execution_id}/cancel tasks:write
  post /api/v1/tasks/{execution_id}/continue tasks:write
  post /api/v1/tasks/{execution_id}/rerun tasks:write idempotent
  post /api/v1/tasks/cancel tasks:write
  post /api/v1/tasks/rerun tasks:write idempotent
  get /api/v1/tasks/{execution_id}/events tasks:read
  get /api/v1/tasks/{execution_id}/callbacks tasks:read
  post /api/v1/tasks/{execution_id}/callback/retry tasks:write
  get /api/v1/tasks/{execution_id}/push-notifications tasks:read
  get /api/v1/tasks/{execution_id}/calls tasks:read
  get /api/v1/tasks/{execution_id}/artifacts tasks:read
  get /api/v1/tasks/{execution_id}/artifacts/{name} tasks:read
  delete /api/v1/tasks/{execution_id} tasks:write
  get /api/v1/agents tasks:read
  post /api/v1/tokens any credential idempotent
  post /api/v1/session public limit sign_in
  get /api/v1/session viewer
  delete /api/v1/session viewer
  get /api/v1/sessions viewer
  delete /api/v1/sessions viewer
  delete /api/v1/sessions/{id} viewer
  get /api/v1/sign-in-options public
  get /api/v1/openid/sign-in public
  get /api/v1/openid/callback public limit none
  get /api/v1/me any credential
  put /api/v1/me/password viewer limit sign_in
  get /api/v1/keys admin
  post /api/v1/keys admin idempotent
  post /api/v1/keys/{id}/rotate admin idempotent
  delete /api/v1/keys/{id} admin
  get /api/v1/projects any credential
  post /api/v1/projects admin idempotent
  get /api/v1/members viewer
  post /api/v1/members admin idempotent
  patch /api/v1/members/{id} admin
  delete /api/v1/members/{id} admin
  get /api/v1/invitations admin
  post /api/v1/invitations admin idempotent
  delete /api/v1/invitations/{id} admin
  post /api/v1/invitations/look-up public
  post /api/v1/invitations/accept public limit sign_in
  post /api/v1/invitations/join viewer
  get /api/v1/webhooks webhooks:read
  post /api/v1/webhooks webhooks:write idempotent
  get /api/v1/webhooks/{id} webhooks:read
  patch /api/v1/webhooks/{id} webhooks:write
  delete /api/v1/webhooks/{id} webhooks:write
  post /api/v1/webhooks/{id}/rotate-secret webhooks:write idempotent
  post /api/v1/webhooks/{id}/test webhooks:write idempotent
  post /api/v1/webhooks/{id}/test-request webhooks:write
  post /api/v1/webhooks/{id}/preview webhooks:read
  post /api/v1/webhooks/preview webhooks:read
  post /api/v1/webhooks/{id}/recover webhooks:write idempotent
  get /api/v1/webhooks/{id}/stats webhooks:read
  get /api/v1/filter-values webhooks:read
  post /api/v1/listeners webhooks:write idempotent
  get /api/v1/webhooks/{id}/deliveries webhooks:read
  get /api/v1/deliveries/{id} webhooks:read
  post /api/v1/deliveries/{id}/retry webhooks:write idempotent
  delete /api/v1/deliveries/{id}/retry webhooks:write
  get /api/v1/notifications viewer
  post /api/v1/notifications/read-all viewer
  post /api/v1/notifications/{id}/read viewer
  post /api/v1/events events:write limit events
  get /api/v1/event-types webhooks:read|events:write
  get /api/v1/source-addresses public
  get /api/v1/audit-log admin
  get /health/live public limit none
  get /health/ready public limit none
  get /health/channel public limit none
`;

function lineOf({ method, path, access, idempotent, limit }: Route): string {
  const options = [...(idempotent ? ['idempotent'] : []), ...(limit ? [`limit ${limit}`] : [])];
  return [method, path, required(access), ...options].join(' ');
}

function required(access: Access): string {
  if (access.kind === 'public') return 'public';
  return access.kind === 'person' ? access.least : (scopesOf(access)?.join('|') ?? 'any credential');
}

describe('the operations of the API', () => {
  it('require these permissions', () => {
    const lines = allRoutes({} as Dependencies).map(lineOf);
    assert.deepEqual(lines, REQUIRED.trim().split(/\n\s*/));
  });

  it('know the parameters of their query and the members of their body, and refuse others', () => {
    const known = allRoutes({} as Dependencies).flatMap(({ method, path, query, body }) => {
      const schemas = { query, body };
      return Object.entries(schemas).map(([what, schema]) => ({
        what: `${what} of ${method} ${path}`,
        schema,
      }));
    });
    const accepting = known.filter(({ schema }) => schema && !refusesUnknown(schema)).map(({ what }) => what);
    // A browser gets these addresses from others: from links, and from the provider.
    const followed = ['query of get /api/v1/openid/sign-in', 'query of get /api/v1/openid/callback'];
    assert.deepEqual(accepting, followed);
  });
});

/** Returns whether a schema refuses an object because of an unknown member. */
function refusesUnknown(schema: z.ZodType): boolean {
  const isAboutIt = (issue: z.core.$ZodIssue): boolean =>
    (issue.code === 'unrecognized_keys' && issue.keys.includes('unheard_of')) ||
    (issue.code === 'invalid_union' && issue.errors.flat().some(isAboutIt));
  return schema.safeParse({ unheard_of: 1 }).error?.issues.some(isAboutIt) ?? false;
}
