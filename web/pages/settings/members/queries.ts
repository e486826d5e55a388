import { unwrap, api, type Schemas } from '../../../api/client.ts';
import { pagedQuery } from '../../../api/pages.ts';

export type Member = Schemas['Member'];
export type Invitation = Schemas['Invitation'];
export type Key = Schemas['Key'];

/** Maximum number of keys that the dialog shows. */
const MAX_KEYS = 200;

/** Fetches the members of the workspace. */
export const membersQuery = pagedQuery<Member>(['members'], async (cursor, signal) => {
  const query = cursor ? { cursor } : {};
  return await unwrap(api.GET('/api/v1/members', { params: { query }, signal }));
});

/** Fetches the open invitations. */
export const invitationsQuery = pagedQuery<Invitation>(['invitations', 'open'], async (cursor, signal) => {
  const query = { status: ['open' as const], ...(cursor ? { cursor } : {}) };
  return await unwrap(api.GET('/api/v1/invitations', { params: { query }, signal }));
});

/** Fetches the active keys that a person created. */
export function keysOfQuery(userId: string) {
  return {
    queryKey: ['keys', 'of', userId],
    async queryFn({ signal }: { signal: AbortSignal }): Promise<Key[]> {
      const query = { created_by: userId, active: 'true' as const, limit: MAX_KEYS };
      return (await unwrap(api.GET('/api/v1/keys', { params: { query }, signal }))).data;
    },
  };
}
