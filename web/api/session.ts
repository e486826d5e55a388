import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import { hasRole, type Role, type Scope } from '../../src/domain/people/access.ts';
import { unwrap, api } from './client.ts';

/** Fetches the signed-in user. */
export const sessionQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => unwrap(api.GET('/api/v1/me', { signal })),
  staleTime: 60_000,
});

/** Returns the signed-in user and their permissions. Only for pages that require a session. */
export function useSession() {
  const { data: me } = useSuspenseQuery(sessionQuery);
  return {
    me,
    /** True if the user's role has the scope. */
    hasScope: (scope: Scope) => me.scopes.includes(scope),
    /** True if the user's role is at least this one. */
    isAtLeast: (role: Role) => me.role !== null && hasRole(me.role, role),
  };
}
