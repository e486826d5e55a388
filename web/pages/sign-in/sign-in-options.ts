import { queryOptions } from '@tanstack/react-query';
import { unwrap, api } from '../../api/client.ts';

/** How one may sign in here. */
export const signInOptionsQuery = queryOptions({
  queryKey: ['sign-in-options'],
  queryFn: ({ signal }) => unwrap(api.GET('/api/v1/sign-in-options', { signal })),
  staleTime: 60_000,
});

/** Where a sign-in at the identity provider begins. */
export function openIdSignInUrl(path: string): string {
  return `/api/v1/openid/sign-in?${new URLSearchParams({ to: path }).toString()}`;
}
