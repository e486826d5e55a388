import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { prefetch, prefetchList } from '../../api/prefetch.ts';
import { signedInRoute } from '../../shell/signed-in-route.ts';
import { filtersOf, runListSearch } from './list-search.ts';
import { RunPanel } from './parts.ts';
import { runQuery, runsQuery } from './queries.ts';

const listRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/orchestration',
  validateSearch: runListSearch,
  loaderDeps: ({ search }) => ({ filters: filtersOf(search) }),
  loader({ context: { queryClient }, deps: { filters }, location }) {
    prefetchList(queryClient, runsQuery(filters));
    const { run } = runListSearch(location.search);
    if (run === undefined) return;
    prefetch(queryClient, runQuery(run));
    void RunPanel.preload?.();
  },
  component: lazyRouteComponent(() => import('./list.tsx'), 'RunList'),
});

const runRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/orchestration/$executionId',
  loader: ({ context: { queryClient }, params: { executionId } }) =>
    prefetch(queryClient, runQuery(executionId)),
  component: lazyRouteComponent(() => import('./run.tsx'), 'RunPage'),
});

export const orchestrationRoutes = [listRoute, runRoute] as const;
