import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext } from '@tanstack/react-router';
import { StandaloneNotFound, StandalonePageError } from '../components/page-states.tsx';

/** The root of all addresses; each may use the cache of answers before it shows anything. */
export const rootRoute = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  notFoundComponent: StandaloneNotFound,
  errorComponent: StandalonePageError,
});
