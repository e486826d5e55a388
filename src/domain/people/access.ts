/** Who may do what: scopes of keys and tokens, roles of people (docs/http-api.md). */

export const SCOPES = [
  'tasks:read',
  'tasks:write',
  'events:write',
  'webhooks:read',
  'webhooks:write',
] as const;
export type Scope = (typeof SCOPES)[number];

/** Scopes that reach over the whole workspace; only admins make keys with them. */
export const WORKSPACE_SCOPES: readonly Scope[] = ['events:write', 'webhooks:read', 'webhooks:write'];

/** From the least to the most. */
export const ROLES = ['viewer', 'member', 'admin', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** True when `role` is `least` or more. */
export function hasRole(role: Role, least: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least);
}

/** What a person of a role may do with tasks and webhooks, in the words of scopes. */
export function scopesOfRole(role: Role): readonly Scope[] {
  if (hasRole(role, 'admin')) return SCOPES;
  if (hasRole(role, 'member')) return ['tasks:read', 'tasks:write', 'webhooks:read'];
  return ['tasks:read', 'webhooks:read'];
}

/** Who a token of ours speaks for: the key or the person it was made with. */
export type TokenSubject = `key:${string}` | `user:${string}`;

/**
 * What a good token says. `origin` tells ours, whose subject is a key or a person, from an outside provider's,
 * which names no workspace.
 */
export type TokenClaims = { projectId: string; scopes: Scope[]; expiresAt: Date } & (
  | { origin: 'own'; subject: TokenSubject; workspaceId: string }
  | { origin: 'outside'; subject: string }
);
