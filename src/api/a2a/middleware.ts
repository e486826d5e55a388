import type { Middleware } from 'koa';
import type { A2aServerDependencies } from './server.ts';

const PATHS = /^\/(a2a(\/.*)?|\.well-known\/agent-card\.json)$/;

/** Creates the middleware of A2A, see `server.ts`. */
export function createA2aMiddleware(deps: A2aServerDependencies): Middleware {
  let server: Promise<Middleware> | undefined;
  return async function serveA2aPaths(context, next) {
    if (!PATHS.test(context.path)) return await next();
    // Loaded with the first request: a service that nobody calls over this protocol does not need it.
    server ??= import('./server.ts').then(({ createA2aServer }) => createA2aServer(deps));
    await (await server)(context, next);
  };
}
