import { queryOptions } from '@tanstack/react-query';
import { unwrap, api } from '../../api/client.ts';

/** Fetches the available sign-in methods. */
export const signInOptionsQuery = queryOptions({
  queryKey: ['sign-in-options'],
  queryFn: ({ signal }) => unwrap(api.GET('/api/v1/sign-in-options', { signal })),
  staleTime: 60_000,
});

/** Returns the address that starts a sign-in at the identity provider. */
export function openIdSignInUrl(path: string): string {
  return `/api/v1/openid/sign-in?${new URLSearchParams({ to: path }).toString()}`;
}
