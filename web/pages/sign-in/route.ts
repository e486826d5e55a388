import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { rootRoute } from '../../app/root-route.ts';
import { textOf } from '../../app/search.ts';

/** `to`: where one wanted to go; `ended`: that a session was there before. */
type SignInSearch = { to?: string; ended?: 'yes' };

export const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): SignInSearch => {
    const to = textOf(search['to']);
    return { ...(to ? { to } : {}), ...(search['ended'] === 'yes' ? { ended: 'yes' } : {}) };
  },
  component: lazyRouteComponent(() => import('./sign-in.tsx'), 'SignIn'),
});
