import type { QueryClient } from '@tanstack/react-query';
import { createRoute, createRouter, redirect } from '@tanstack/react-router';
import { NotFound, PageError, PageSkeleton } from '../components/page-states.tsx';
import { invitationRoute } from '../pages/invitation/route.ts';
import { orchestrationRoutes } from '../pages/orchestration/routes.ts';
import { settingsRoutes } from '../pages/settings/routes.ts';
import { signInRoute } from '../pages/sign-in/route.ts';
import { webhookRoutes } from '../pages/webhooks/routes.ts';
import { rootRoute } from '../routing/root-route.ts';
import { parseSearch, stringifySearch } from '../routing/search.ts';
import { signedInRoute } from '../shell/signed-in-route.ts';

const homeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/',
  beforeLoad: () => redirect({ to: '/orchestration', replace: true, throw: true }),
});

/** Redirects shortened addresses to the first page below them. */
const settingsRoutesAbove = ['/settings', '/settings/integrations'].map((path) =>
  createRoute({
    getParentRoute: () => rootRoute,
    path,
    beforeLoad: () => redirect({ to: '/settings/integrations/webhooks', replace: true, throw: true }),
  }),
);

const routeTree = rootRoute.addChildren([
  homeRoute,
  signInRoute,
  invitationRoute,
  ...settingsRoutesAbove,
  signedInRoute.addChildren([...orchestrationRoutes, ...webhookRoutes, ...settingsRoutes]),
]);

/** Creates the router of all pages. Pages are loaded on demand, or when the pointer is over a link. */
export function createScreensRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    parseSearch,
    stringifySearch,
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0, // the query cache knows what is fresh
    scrollRestoration: true,
    defaultNotFoundComponent: NotFound,
    defaultErrorComponent: PageError,
    defaultPendingComponent: PageSkeleton,
    defaultPendingMs: 150,
    defaultPendingMinMs: 0,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createScreensRouter>;
  }
}
