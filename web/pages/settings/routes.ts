import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { signedInRoute } from '../../shell/signed-in-route.ts';
import { auditSearch } from './audit-log/search.ts';

const keysRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/api-keys',
  component: lazyRouteComponent(() => import('./api-keys.tsx'), 'ApiKeys'),
});

const membersRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/members',
  component: lazyRouteComponent(() => import('./members.tsx'), 'Members'),
});

const projectsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/settings/projects',
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
