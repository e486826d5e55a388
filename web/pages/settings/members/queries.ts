import { queryOptions } from '@tanstack/react-query';
import { unwrap, api, type Schemas } from '../../../api/client.ts';
import { fetchAll, pagedQuery } from '../../../api/pages.ts';

export type Invitation = Schemas['Invitation'];
export type Key = Schemas['Key'];

/** Fetches the open invitations. */
export const invitationsQuery = pagedQuery<Invitation>(['invitations', 'open'], async (cursor, signal) => {
  const query = { status: ['open' as const], ...(cursor ? { cursor } : {}) };
  return await unwrap(api.GET('/api/v1/invitations', { params: { query }, signal }));
});

/** Fetches all active keys that a person created. */
export function keysOfQuery(userId: string) {
  return queryOptions({
    queryKey: ['keys', 'of', userId],
    queryFn: ({ signal }) =>
      fetchAll<Key>((page) => {
        const query = { ...page, created_by: userId, active: 'true' as const };
        return unwrap(api.GET('/api/v1/keys', { params: { query }, signal }));
      }),
  });
}
