import type { Middleware } from 'koa';
import { SCOPES } from '../../domain/people/access.ts';
import { admit, type Gate } from '../http/admit.ts';
import type { Problem } from '../http/problem.ts';
import type { RequestState } from '../http/request-state.ts';

const PATH = '/.well-known/oauth-protected-resource/mcp';
const PUBLIC = { access: { kind: 'public' } } as const;

/** `tokenIssuer`: the identity provider whose tokens are accepted; null if none is configured. */
type Dependencies = Gate & { baseUrl: string; tokenIssuer: string | null };

/** Tells clients of the Model Context Protocol where to get a token (RFC 9728, OAuth 2.0 Protected Resource Metadata). */
export function createResourceMetadata(deps: Dependencies): Middleware {
  return async function serveResourceMetadata(context, next) {
    const isRead = context.method === 'GET' || context.method === 'HEAD';
    if (deps.tokenIssuer === null || context.path !== PATH || !isRead) return await next();
    (context.state as RequestState).route = PATH;
    await admit(deps, PUBLIC, context);
    context.body = {
      resource: `${deps.baseUrl}/mcp`,
      resource_name: 'Baton',
      authorization_servers: [deps.tokenIssuer],
      scopes_supported: SCOPES,
      bearer_methods_supported: ['header'],
    };
  };
}

/** Returns the headers of a refusal, with the address of the metadata in the challenge (RFC 9728, section 5.1). */
export function challengeHeaders(
  { baseUrl, tokenIssuer }: Pick<Dependencies, 'baseUrl' | 'tokenIssuer'>,
  { status, headers }: Problem,
): Problem['headers'] {
  const challenge = headers['WWW-Authenticate'];
  if (status !== 401 || tokenIssuer === null || challenge === undefined) return headers;
  const link = `Bearer resource_metadata="${baseUrl}${PATH}", `;
  return { ...headers, 'WWW-Authenticate': challenge.replace(/^Bearer /, link) };
}
