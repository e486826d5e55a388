import { queryOptions, useSuspenseQuery } from '@tanstack/react-query';
import { hasRole, type Role, type Scope } from '../../src/domain/people/access.ts';
import { unwrap, api } from './client.ts';

/** Who is signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => unwrap(api.GET('/api/v1/me', { signal })),
  staleTime: 60_000,
});

/** Who is signed in, and what this person may do. Only below the pages that need somebody to be signed in. */
export function useSession() {
  const { data: me } = useSuspenseQuery(sessionQuery);
  return {
    me,
    /** True where the person's role has the scope. */
    hasScope: (scope: Scope) => me.scopes.includes(scope),
    /** True where the person's role is this one or more. */
    isAtLeast: (role: Role) => me.role !== null && hasRole(me.role, role),
  };
}
