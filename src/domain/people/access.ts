/** Permissions: scopes of keys and tokens, roles of people (docs/http-api.md). */

export const SCOPES = [
  'tasks:read',
  'tasks:write',
  'events:write',
  'webhooks:read',
  'webhooks:write',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Scopes that apply to the whole workspace. Only admins create keys with them. */
export const WORKSPACE_SCOPES: readonly Scope[] = ['events:write', 'webhooks:read', 'webhooks:write'];

/** From the lowest to the highest. */
export const ROLES = ['viewer', 'member', 'admin', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** Returns whether `role` is `least` or higher. */
export function hasRole(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}

/** Returns what a person with this role may do with tasks and webhooks, as scopes. */
export function scopesOfRole(role: Role): readonly Scope[] {
  if (hasRole(role, 'admin')) return SCOPES;
  if (hasRole(role, 'member')) return ['tasks:read', 'tasks:write', 'webhooks:read'];
  return ['tasks:read', 'webhooks:read'];
}

/** Subject of a token that the service issued: the key or the person that created it. */
export type TokenSubject = `key:${string}` | `user:${string}`;

/**
 * Claims of a valid token. `origin` is `own` for tokens of the service, whose subject is a key or a person, and
 * `outside` for tokens of another provider, which contain no workspace. `sessionId` is the session that created the
 * token; null if a key did.
 */
export type TokenClaims = { projectId: string; scopes: Scope[]; expiresAt: Date } & (
  | { origin: 'own'; subject: TokenSubject; workspaceId: string; sessionId: string | null }
  | { origin: 'outside'; subject: string }
);

/** Returns the ids of the key, or of the person and the session, with which a token ends. */
export function credentialIdsOf(claims: TokenClaims): string[] {
  if (claims.origin === 'outside') return [];
  const [, id = ''] = claims.subject.split(':', 2);
  return claims.sessionId === null ? [id] : [id, claims.sessionId];
}
