import type { QueryClient } from '@tanstack/react-query';
import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { hasRole } from '../../../src/domain/people/access.ts';
import { membersQuery } from '../../api/members.ts';
import { prefetch, prefetchList } from '../../api/prefetch.ts';
import { projectsQuery } from '../../api/projects.ts';
import { sessionQuery } from '../../api/session.ts';
import { signedInRoute } from '../../shell/signed-in-route.ts';
import { auditQuery } from './audit-log/queries.ts';
import { auditSearch } from './audit-log/search.ts';
import { keysQuery } from './keys/queries.ts';

/** Others see a sentence instead of these pages. The session is in the cache. */
function isAdmin(queryClient: QueryClient): boolean {
  const role = queryClient.getQueryData(sessionQuery.queryKey)?.role ?? null;
  return role !== null && hasRole(role, 'admin');
}

const keysRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/api-keys',
  loader: ({ context: { queryClient } }) => {
    if (isAdmin(queryClient)) prefetchList(queryClient, keysQuery);
  },
  component: lazyRouteComponent(() => import('./api-keys.tsx'), 'ApiKeys'),
});

const membersRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/members',
  loader: ({ context: { queryClient } }) => prefetchList(queryClient, membersQuery),
  component: lazyRouteComponent(() => import('./members.tsx'), 'Members'),
});

const projectsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/projects',
  loader: ({ context: { queryClient } }) => prefetch(queryClient, projectsQuery),
  component: lazyRouteComponent(() => import('./projects.tsx'), 'Projects'),
});

const sourceAddressesRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/source-addresses',
  component: lazyRouteComponent(() => import('./source-addresses.tsx'), 'SourceAddresses'),
});

const agentsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/agents',
  component: lazyRouteComponent(() => import('./agents.tsx'), 'Agents'),
});

const auditLogRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/audit-log',
  validateSearch: auditSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context: { queryClient }, deps }) => {
    if (isAdmin(queryClient)) prefetchList(queryClient, auditQuery(deps));
  },
  component: lazyRouteComponent(() => import('./audit-log.tsx'), 'AuditLog'),
});

const accountRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/account',
  component: lazyRouteComponent(() => import('./account.tsx'), 'Account'),
});

export const settingsRoutes = [
  keysRoute,
  membersRoute,
  projectsRoute,
  agentsRoute,
  sourceAddressesRoute,
  auditLogRoute,
  accountRoute,
] as const;
