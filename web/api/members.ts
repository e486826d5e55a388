import { unwrap, api, type Schemas } from './client.ts';
import { pagedQuery } from './pages.ts';

export type Member = Schemas['Member'];

/** Fetches the members of the workspace. */
export const membersQuery = pagedQuery<Member>(['members'], async (cursor, signal) => {
  const query = cursor ? { cursor } : {};
  return await unwrap(api.GET('/api/v1/members', { params: { query }, signal }));
});
