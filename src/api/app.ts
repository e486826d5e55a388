import Koa from 'koa';
import type { Dependencies } from './dependencies.ts';
import { createA2aMiddleware } from './a2a/middleware.ts';
import { agentRoutes } from './agents/routes.ts';
import { auditLogRoutes } from './audit-log/routes.ts';
import { createCodecServer } from './codec/server.ts';
import { deliveryRoutes } from './deliveries/routes.ts';
import { createDocsPages } from './docs/routes.ts';
import { eventTypeRoutes } from './event-types/routes.ts';
import { eventRoutes } from './events/routes.ts';
import { healthRoutes } from './health/routes.ts';
import { accessLog } from './http/access-log.ts';
import type { Gate } from './http/admit.ts';
import { clientAddresses } from './http/client-address.ts';
import { createAuthentication } from './http/authentication.ts';
import { errorResponses } from './http/error-responses.ts';
import { createIdempotency } from './http/idempotency.ts';
import { takeOverClaim } from '../database/common/idempotency-claims.ts';
import { createIdempotencyKeys } from '../database/tasks/idempotency.ts';
import { createRateLimiter } from '../domain/common/rate-limiter.ts';
import { limitPendingResponses } from './http/pending-responses.ts';
import { requestId } from './http/request-state.ts';
import { requireReadableTarget } from './http/request-target.ts';
import type { Route } from './http/route.ts';
import { traceRequests } from './http/trace-requests.ts';
import { createRouter } from './http/router.ts';
import { invitationRoutes } from './invitations/routes.ts';
import { keyRoutes } from './keys/routes.ts';
import { listenerRoutes } from './listeners/routes.ts';
import { meRoutes } from './account/me.ts';
import { createMcpEndpoint } from './mcp/endpoint.ts';
import { createResourceMetadata } from './mcp/resource-metadata.ts';
import { memberRoutes } from './members/routes.ts';
import { notificationRoutes } from './notifications/routes.ts';
import { openIdRoutes } from './account/openid/routes.ts';
import { passwordRoutes } from './account/password.ts';
import { projectRoutes } from './projects/routes.ts';
import { signInOptionRoutes } from './account/session/options.ts';
import { sessionRoutes } from './account/session/routes.ts';
import { sessionsRoutes } from './account/sessions.ts';
import { sourceAddressRoutes } from './source-addresses/routes.ts';
import { taskRoutes } from './tasks/routes.ts';
import { createTaskLimits, type TaskLimits } from './tasks/task-limits.ts';
import { tokenRoutes } from './account/tokens.ts';
import { createScreens } from './web/screens.ts';
import { webhookRoutes } from './webhooks/routes.ts';

/** Creates the HTTP API. The entry point listens. */
export function createApp(deps: Dependencies): Koa {
  const { clock, rateLimit } = deps;
  const onError = (error: unknown) => deps.log.warn({ err: error }, 'recording credential use failed');
  const limits = createTaskLimits(deps);
  const routes = allRoutes(deps, limits);
  const gate: Gate = {
    authenticate: createAuthentication({ ...deps, onError }),
    idempotency: createIdempotency({
      ...deps,
      keys: createIdempotencyKeys(deps.database),
      takeOver: (claim) => takeOverClaim(deps.database, claim),
      onError,
    }),
    limiters: {
      credential: createRateLimiter({ name: 'credential', ...rateLimit }, clock),
      events: createRateLimiter({ name: 'events', ...deps.eventsRateLimit }, clock),
      address: createRateLimiter({ name: 'address', ...rateLimit }, clock),
      signIn: createRateLimiter(
        { name: 'sign-in', perSecond: deps.signInsPerMinute / 60, burst: deps.signInsPerMinute },
        clock,
      ),
    },
  };
  const { stopping, onResponse } = deps;
  const router = createRouter({ ...gate, routes, stopping, onResponse });
  const app = new Koa();
  app.use(requestId);
  app.use(requireReadableTarget);
  app.use(clientAddresses(deps.trustedProxies));
  app.use(accessLog(deps.log, deps.onRequest));
  if (deps.traceRequest) app.use(traceRequests(deps.traceRequest));
  app.use(errorResponses(deps.log));
  app.use(limitPendingResponses());
  app.use(router.routes);
  app.use(createCodecServer({ ...deps, ...gate }));
  app.use(createResourceMetadata({ ...deps, ...gate }));
  app.use(createMcpEndpoint({ ...deps, ...gate, routes, limits }));
  app.use(createA2aMiddleware({ ...deps, ...gate, limits }));
  app.use(createDocsPages(deps, routes));
  app.use(createScreens({ folder: deps.screensFolder, baseUrl: deps.baseUrl }));
  app.use(router.fallback);
  app.on('error', (error: NodeJS.ErrnoException) => {
    // A client that disconnects during a stream is not an error.
    if (
      error.code !== 'ERR_STREAM_PREMATURE_CLOSE' &&
      error.code !== 'ECONNRESET' &&
      error.code !== 'EPIPE'
    ) {
      deps.log.error({ err: error }, 'response aborted');
    }
  });
  return app;
}

/** Returns all routes of the API, in the order of the OpenAPI document. */
export function allRoutes(deps: Dependencies, limits: TaskLimits = createTaskLimits(deps)): Route[] {
  return [
    ...taskRoutes(deps, limits),
    ...agentRoutes(deps),
    ...tokenRoutes(deps),
    ...sessionRoutes(deps),
    ...sessionsRoutes(deps),
    ...signInOptionRoutes(deps),
    ...openIdRoutes(deps),
    ...meRoutes(deps),
    ...passwordRoutes(deps),
    ...keyRoutes(deps),
    ...projectRoutes(deps),
    ...memberRoutes(deps),
    ...invitationRoutes(deps),
    ...webhookRoutes(deps),
    ...listenerRoutes(deps),
    ...deliveryRoutes(deps),
    ...notificationRoutes(deps),
    ...eventRoutes(deps),
    ...eventTypeRoutes(),
    ...sourceAddressRoutes(deps),
    ...auditLogRoutes(deps),
    ...healthRoutes(deps),
  ];
}
