import { unwrap, api, type Schemas } from '../../../api/client.ts';
import { pagedQuery } from '../../../api/pages.ts';

export type Member = Schemas['Member'];
export type Invitation = Schemas['Invitation'];

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
