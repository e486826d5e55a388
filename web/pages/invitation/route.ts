import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../routing/root-route.ts';

/** Where the link of an invitation leads; its token stands behind the `#` and stays in the browser. */
export const invitationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/invitation',
  component: lazyRouteComponent(() => import('./invitation.tsx'), 'InvitationPage'),
});
