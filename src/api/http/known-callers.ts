import { scopesOfRole, type TokenClaims } from '../../domain/people/access.ts';
import type { Database } from '../../database/database.ts';
import type { ActiveKey } from '../../database/people/keys.ts';
import type { ActiveSession } from '../../database/people/sessions.ts';
import { findTokenHolder } from '../../database/people/token-holders.ts';
import type { KeyCaller, PersonCaller, TokenCaller } from './caller.ts';

/** Returns the caller of a valid session. */
export function personCaller(session: ActiveSession): PersonCaller {
  return {
    kind: 'person',
    workspaceId: session.workspace_id,
    projectId: null,
    scopes: scopesOfRole(session.role),
    actor: `user:${session.user_id}`,
    label: `user:${session.email}`,
    userId: session.user_id,
    email: session.email,
    name: session.name,
    role: session.role,
    sessionId: session.id,
    expiresAt: session.expires_at,
  };
}

/** Returns the caller of a valid key. */
export function keyCaller(key: ActiveKey): KeyCaller {
  return {
    kind: 'key',
    workspaceId: key.workspace_id,
    projectId: key.project_id,
    scopes: key.scopes,
    actor: `key:${key.id}`,
    label: `key:${key.prefix}`,
    keyId: key.id,
    name: key.name,
    prefix: key.prefix,
  };
}

/** Returns the caller of a token; null if its subject no longer exists. */
export async function tokenCaller(database: Database, claims: TokenClaims): Promise<TokenCaller | null> {
  const holder = await findTokenHolder(database, claims);
  return holder && { kind: 'token', ...holder, claims };
}
