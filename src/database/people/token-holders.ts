import { UUID } from '../../domain/common/text.ts';
import { scopesOfRole, type Scope, type TokenClaims } from '../../domain/people/access.ts';
import type { Database } from '../database.ts';
import { findActiveKey } from './keys.ts';
import { findMember } from './members.ts';
import { findProject } from './projects.ts';
import { isSessionActive } from './sessions.ts';

/** The current holder of a token, and what it allows. */
export type TokenHolder = {
  workspaceId: string;
  projectId: string;
  scopes: readonly Scope[];
  /** For the audit log: `key:<id>`, `user:<id>`, `token:<subject>`. */
  actor: string;
  /** Label for people. */
  label: string;
};

/**
 * Returns the current holder of a token. A token never allows more than its key or person, and is invalid without them.
 * Returns null if they were removed, or the session that created the token has ended.
 */
export async function findTokenHolder(database: Database, claims: TokenClaims): Promise<TokenHolder | null> {
  const { projectId } = claims;
  if (claims.origin === 'outside') {
    const project = UUID.test(projectId) ? await findProject(database, projectId) : null;
    const actor = `token:${claims.subject}`;
    return (
      project && { projectId, workspaceId: project.workspace_id, scopes: claims.scopes, actor, label: actor }
    );
  }
  const { workspaceId, subject } = claims;
  const [kind, id] = subject.split(':', 2);
  if (kind === 'key') {
    const key = await findActiveKey(database, { id: id ?? '' });
    if (!key || key.project_id !== projectId) return null;
    const scopes = claims.scopes.filter((scope) => key.scopes.includes(scope));
    return { projectId, workspaceId, scopes, actor: subject, label: `key:${key.prefix}` };
  }
  const member = await findMember(database, workspaceId, id ?? '');
  if (!member) return null;
  if (claims.sessionId !== null && !(await isSessionActive(database, claims.sessionId))) return null;
  const allowed = scopesOfRole(member.role);
  const scopes = claims.scopes.filter((scope) => allowed.includes(scope));
  return { projectId, workspaceId, scopes, actor: subject, label: `user:${member.email}` };
}
