import { unwrap, api, type Schemas } from '../../../api/client.ts';
import { pagedQuery } from '../../../api/pages.ts';

export type Key = Schemas['Key'];

/** All keys of the workspace, the revoked ones too. */
export const keysQuery = pagedQuery<Key>(['keys'], async (cursor, signal) => {
  const query = cursor ? { cursor } : {};
  return await unwrap(api.GET('/api/v1/keys', { params: { query }, signal }));
});

/** Returns the current status of a key. */
export function keyStatus(key: Key, now: number): 'active' | 'revoked' | 'expired' | 'replaced' {
  // Never in the future, unlike the clock of this page, which may be some seconds late.
  if (key.revoked_at !== null) return 'revoked';
  if (key.expires_at !== null && Date.parse(key.expires_at) <= now) return 'expired';
  return key.replaced_by === null ? 'active' : 'replaced';
}
