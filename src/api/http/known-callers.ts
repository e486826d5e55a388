import { scopesOfRole } from '../../domain/access.ts';
import type { Database } from '../../database/connect.ts';
import { findLivingKey, type LivingKey } from '../../database/keys.ts';
import { findMember } from '../../database/members.ts';
import { findProject } from '../../database/projects.ts';
import type { LivingSession } from '../../database/sessions.ts';
import type { TokenClaims } from '../../security/tokens.ts';
import type { KeyCaller, PersonCaller, TokenCaller } from './caller.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A person with a living session, as the one who calls. */
export function personCaller(session: LivingSession): PersonCaller {
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

/** A key that may be used now, as the one who calls. */
export function keyCaller(key: LivingKey): KeyCaller {
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

/**
 * Whom a token speaks for now: it never allows more than the key or the person it came from, and dies with them.
 * Null where they are gone.
 */
export async function tokenCaller(database: Database, claims: TokenClaims): Promise<TokenCaller | null> {
  const { projectId, expiresAt } = claims;
  const common = { kind: 'token', projectId, expiresAt } as const;
  if (claims.origin === 'outside') {
    const project = UUID.test(projectId) ? await findProject(database, projectId) : null;
    const actor = `token:${claims.subject}`;
    return (
      project && { ...common, workspaceId: project.workspace_id, scopes: claims.scopes, actor, label: actor }
    );
  }
  const { workspaceId, subject } = claims;
  const [kind, id] = subject.split(':', 2);
  if (kind === 'key') {
    const key = await findLivingKey(database, { id: id ?? '' });
    if (!key || key.project_id !== projectId) return null;
    const scopes = claims.scopes.filter((scope) => key.scopes.includes(scope));
    return { ...common, workspaceId, scopes, actor: subject, label: `key:${key.prefix}` };
  }
  const member = await findMember(database, workspaceId, id ?? '');
  if (!member) return null;
  const allowed = scopesOfRole(member.role);
  const scopes = claims.scopes.filter((scope) => allowed.includes(scope));
  return { ...common, workspaceId, scopes, actor: subject, label: `user:${member.email}` };
}
