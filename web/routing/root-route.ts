import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext } from '@tanstack/react-router';
import { StandaloneNotFound, StandalonePageError } from '../components/page-states.tsx';

/** The root of all routes. Each route can use the query cache before it renders. */
export const rootRoute = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  notFoundComponent: StandaloneNotFound,
  errorComponent: StandalonePageError,
});
