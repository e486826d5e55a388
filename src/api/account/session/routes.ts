import { z } from 'zod';
import { MAX_EMAIL_LENGTH } from '../../../domain/common/limits.ts';
import { findForSignIn } from '../../../database/people/members.ts';
import { endSession, startSession } from '../../../database/people/sessions.ts';
import { verifyPassword } from '../../../security/passwords.ts';
import { sessionCookie } from '../../../security/sessions.ts';
import type { Dependencies } from '../../dependencies.ts';
import { networkOf } from '../../http/client-address.ts';
import { tryToRecordRequest } from '../../http/audit.ts';
import { unauthenticated } from '../../http/authentication.ts';
import { text } from '../../http/fields.ts';
import { requireOwnOrigin } from '../../http/own-origin.ts';
import { route, type Route } from '../../http/route.ts';
import { givenPassword } from '../../../domain/people/person-fields.ts';
import { planSession, presentSigned, sessionResponse, signedIn } from './begin.ts';
import { accountOf } from './password-attempts.ts';

const PATH = '/api/v1/session';

const signIn = z
  .strictObject({ email: text({ most: MAX_EMAIL_LENGTH }), password: givenPassword })
  .meta({ id: 'SignInRequest' });

/** Returns the routes that start, read and end a session (docs/http-api.md). */
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
    responses: {
      201: { description: 'Signed in', schema: signedIn, headers: { 'Set-Cookie': 'The session, HttpOnly' } },
    },
    problems: ['unauthenticated', 'forbidden'],
    async handle({ body: { email, password }, headers, address }) {
      requireOwnOrigin(deps.baseUrl, headers);
      const person = await findForSignIn(deps.database, accountOf(email));
      const hash = person?.passwordHash ?? null;
      const right = await deps.passwordAttempts.verify({ email, address: networkOf(address) }, () =>
        verifyPassword(password, hash),
      );
      if (person && !right) recordRefusal(deps, person, address);
      if (!person || !right) throw unauthenticated('E-mail or password is wrong.');
      const { userId, workspaceId } = person;
      const { plan, cookie } = planSession(deps, { headers, address });
      const started = await startSession(deps.database, { ...plan, userId, workspaceId, passwordHash: hash });
      // The password was changed during this request.
      if (!started) throw unauthenticated('E-mail or password is wrong.');
      return await sessionResponse(deps, plan, cookie);
    },
  });
}

/** Records a wrong password in the background: the time of a response must not reveal whether an account exists. */
function recordRefusal(
  deps: Dependencies,
  { userId, workspaceId }: { userId: string; workspaceId: string },
  address: string,
): void {
  const who = `user:${userId}`;
  const entry = { workspaceId, actor: who, action: 'session.refused', subject: who } as const;
  void tryToRecordRequest(deps, { ...entry, detail: { address } });
}

function read(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: PATH,
    operationId: 'readSession',
    tag: 'session',
    summary: 'Get the current session',
    access: { kind: 'person', least: 'viewer' },
    responses: { 200: { description: 'The session', schema: signedIn } },
    handle: async ({ caller }) => ({
      status: 200,
      body: await presentSigned(deps, {
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
    responses: { 204: { description: 'Signed out', headers: { 'Set-Cookie': 'Removes the cookie' } } },
    async handle({ caller: { sessionId: id, userId, workspaceId } }) {
      await endSession(deps.database, { id, userId, workspaceId, now: deps.clock() });
      return { status: 204, headers: { 'Set-Cookie': sessionCookie(deps.baseUrl, null) } };
    },
  });
}
