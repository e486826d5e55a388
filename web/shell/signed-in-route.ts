import { createRoute, redirect } from '@tanstack/react-router';
import { isSignedOut } from '../api/problem.ts';
import { sessionQuery } from '../api/session.ts';
import { StandalonePageError } from '../components/page-states.tsx';
import { Shell } from './shell.tsx';
import { rootRoute } from '../routing/root-route.ts';

/** The parent of all routes that require a session. Without one it redirects to `/sign-in` and back. */
export const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'signed-in',
  async beforeLoad({ context: { queryClient }, location }) {
    try {
      await queryClient.ensureQueryData(sessionQuery);
    } catch (error) {
      if (isSignedOut(error)) redirect({ to: '/sign-in', search: { to: location.href }, throw: true });
      throw error;
    }
  },
  component: Shell,
  errorComponent: StandalonePageError,
});
