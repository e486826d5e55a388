import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { signedInRoute } from '../../shell/signed-in-route.ts';
import { runListSearch } from './list-search.ts';

const listRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/orchestration',
  validateSearch: runListSearch,
  component: lazyRouteComponent(() => import('./list.tsx'), 'RunList'),
});

const runRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/orchestration/$executionId',
  component: lazyRouteComponent(() => import('./run.tsx'), 'RunPage'),
});

export const orchestrationRoutes = [listRoute, runRoute] as const;
