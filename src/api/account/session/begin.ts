import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { ROLES } from '../../../domain/people/access.ts';
import { findWorkspace } from '../../../database/people/projects.ts';
import { findActiveSession, type NewSession } from '../../../database/people/sessions.ts';
import { SESSION_MS } from '../../../domain/common/limits.ts';
import { newSessionToken, sessionCookie } from '../../../security/sessions.ts';
import type { Dependencies } from '../../dependencies.ts';
import { unauthenticated } from '../../http/authentication.ts';
import { timestamp, uuidOut } from '../../http/fields.ts';

const USER_AGENT_KEPT = 300;

/** The signed-in user, as every response that starts a session returns it. */
export const signedIn = z
  .strictObject({
    user: z.strictObject({ id: uuidOut, email: z.string(), name: z.string() }),
    workspace: z.strictObject({ id: uuidOut, name: z.string() }),
    role: z.enum(ROLES),
    expires_at: timestamp,
  })
  .meta({ id: 'SignedIn' });

type Signed = {
  user_id: string;
  email: string;
  name: string;
  workspace_id: string;
  role: string;
  expires_at: Date;
};

/** A session to store, without its user and workspace. */
export type SessionPlan = Omit<NewSession, 'userId' | 'workspaceId'>;

/** Returns the session to store for this request, and its cookie. */
export function planSession(
  deps: Pick<Dependencies, 'baseUrl' | 'clock'>,
  { headers, address }: { headers: IncomingHttpHeaders; address: string },
): { plan: SessionPlan; cookie: string } {
  const { value, hash } = newSessionToken();
  const now = deps.clock();
  return {
    plan: {
      tokenHash: hash,
      userAgent: headers['user-agent']?.slice(0, USER_AGENT_KEPT) ?? null,
      address,
      now,
      expiresAt: new Date(now.getTime() + SESSION_MS),
    },
    cookie: sessionCookie(deps.baseUrl, value),
  };
}

/**
 * Returns 201 with the cookie of a stored session.
 * @throws Problem `unauthenticated` if the session has already ended, for example with the person's membership
 */
export async function sessionResponse(deps: Dependencies, plan: SessionPlan, cookie: string) {
  const signed = await findActiveSession(deps.database, plan.tokenHash);
  if (!signed) throw unauthenticated('The session has ended. Sign in again.');
  return { status: 201, headers: { 'Set-Cookie': cookie }, body: await presentSigned(deps, signed) };
}

export async function presentSigned(deps: Dependencies, signed: Signed) {
  const workspace = await findWorkspace(deps.database, signed.workspace_id);
  return {
    user: { id: signed.user_id, email: signed.email, name: signed.name },
    workspace: { id: signed.workspace_id, name: workspace?.name ?? '' },
    role: signed.role,
    expires_at: signed.expires_at.toISOString(),
  };
}
