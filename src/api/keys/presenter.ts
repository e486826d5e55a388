import type { ApiKeyRow } from '../../database/people/keys.ts';

/** Returns a key without its secret and the hash of it. */
export function presentKey(row: ApiKeyRow) {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    project_id: row.project_id,
    scopes: row.scopes,
    created_by: row.created_by,
    creator: row.creator,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    replaced_by: row.replaced_by ?? null,
  };
}
