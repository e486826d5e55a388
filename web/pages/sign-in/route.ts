import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { SIGN_IN_PROBLEMS, type SignInProblem } from '../../../src/domain/people/sign-in-problems.ts';
import { rootRoute } from '../../routing/root-route.ts';
import { parseText } from '../../routing/search.ts';

/** `to`: the requested page; `ended`: a session has ended; `problem`: the error of the identity provider. */
type SignInSearch = { to?: string; ended?: 'yes'; problem?: SignInProblem };

export const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): SignInSearch => {
    const to = parseText(search['to']);
    const problem = parseText(search['problem']);
    return {
      ...(to && { to }),
      ...(search['ended'] === 'yes' && { ended: 'yes' }),
      ...(problem && Object.hasOwn(SIGN_IN_PROBLEMS, problem) && { problem: problem as SignInProblem }),
    };
  },
  component: lazyRouteComponent(() => import('./sign-in.tsx'), 'SignIn'),
});
