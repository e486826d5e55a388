import { z } from 'zod';
import { ROLES } from '../../domain/access.ts';
import { findForSignIn } from '../../database/members.ts';
import { findWorkspace } from '../../database/projects.ts';
import { endSession, findLivingSession, startSession } from '../../database/sessions.ts';
import { verifyPassword } from '../../security/passwords.ts';
import { isOwnOrigin, newSessionToken, SESSION_MS, sessionCookie } from '../../security/sessions.ts';
import type { Dependencies } from '../dependencies.ts';
import { refused } from '../http/authentication.ts';
import { timestamp, uuidOut } from '../http/fields.ts';
import { Problem } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';

const PATH = '/api/v1/session';
const USER_AGENT_KEPT = 300;

const signIn = z
  .strictObject({ email: z.string().max(320), password: z.string().max(1_000) })
  .meta({ id: 'SignIn' });

const session = z
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

/** Signing in and out (decisions 2): a session cookie for people. */
export function sessionRoutes(deps: Dependencies): Route[] {
  return [start(deps), read(deps), end(deps)];
}

function start(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: PATH,
    operationId: 'signIn',
    tag: 'session',
    summary: 'Sign in with e-mail and password',
    access: { kind: 'public' },
    limit: 'sign_in',
    body: signIn,
    answers: {
      201: { description: 'Signed in', schema: session, headers: { 'Set-Cookie': 'The session, HttpOnly' } },
    },
    problems: ['unauthenticated', 'forbidden'],
    async handle({ body, headers, address }) {
      if (headers.origin !== undefined && !isOwnOrigin(deps.baseUrl, headers.origin)) {
        throw new Problem('forbidden', 'Signing in is for pages of this service (Origin).');
      }
      const person = await findForSignIn(deps.database, body.email.trim().toLowerCase());
      const right = await verifyPassword(body.password, person?.passwordHash ?? null);
      if (!person || !right) throw refused('E-mail or password is wrong.');
      const { value, hash } = newSessionToken();
      const now = deps.clock();
      await startSession(deps.database, {
        userId: person.userId,
        workspaceId: person.workspaceId,
        tokenHash: hash,
        userAgent: headers['user-agent']?.slice(0, USER_AGENT_KEPT) ?? null,
        address,
        now,
        expiresAt: new Date(now.getTime() + SESSION_MS),
      });
      const signed = await findLivingSession(deps.database, hash);
      if (!signed) throw refused('E-mail or password is wrong.');
      const cookie = sessionCookie(deps.baseUrl, value);
      return { status: 201, headers: { 'Set-Cookie': cookie }, body: await present(deps, signed) };
    },
  });
}

function read(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: PATH,
    operationId: 'readSession',
    tag: 'session',
    summary: 'Who is signed in',
    access: { kind: 'person', least: 'viewer' },
    answers: { 200: { description: 'The session', schema: session } },
    handle: async ({ caller }) => ({
      status: 200,
      body: await present(deps, {
        user_id: caller.userId,
        email: caller.email,
        name: caller.name,
        workspace_id: caller.workspaceId,
        role: caller.role,
        expires_at: caller.expiresAt,
      }),
    }),
  });
}

function end(deps: Dependencies): Route {
  return route({
    method: 'delete',
    path: PATH,
    operationId: 'signOut',
    tag: 'session',
    summary: 'Sign out',
    access: { kind: 'person', least: 'viewer' },
    answers: { 204: { description: 'Signed out', headers: { 'Set-Cookie': 'Takes the cookie away' } } },
    async handle({ caller: { sessionId: id, userId, workspaceId } }) {
      await endSession(deps.database, { id, userId, workspaceId, now: deps.clock() });
      return { status: 204, headers: { 'Set-Cookie': sessionCookie(deps.baseUrl, null) } };
    },
  });
}

async function present(deps: Dependencies, signed: Signed) {
  const workspace = await findWorkspace(deps.database, signed.workspace_id);
  return {
    user: { id: signed.user_id, email: signed.email, name: signed.name },
    workspace: { id: signed.workspace_id, name: workspace?.name ?? '' },
    role: signed.role,
    expires_at: signed.expires_at.toISOString(),
  };
}
