import { passwordChange } from '../../domain/people/person-fields.ts';
import { changePassword, findPasswordHash } from '../../database/people/passwords.ts';
import { hashPassword, verifyPassword } from '../../security/passwords.ts';
import { newSessionToken, sessionCookie } from '../../security/sessions.ts';
import type { Dependencies } from '../dependencies.ts';
import { networkOf } from '../http/client-address.ts';
import { Problem } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';

/** Returns the route that changes the caller's password. */
export function passwordRoutes(deps: Dependencies): Route[] {
  return [
    route({
      method: 'put',
      path: '/api/v1/me/password',
      operationId: 'changePassword',
      tag: 'session',
      summary: 'Change your password and end your other sessions',
      description:
        'This session continues with a new cookie; the old cookie becomes invalid. ' +
        'A wrong `current_password` returns 422 and counts as a failed sign-in.',
      access: { kind: 'person', least: 'viewer' },
      limit: 'sign_in',
      body: passwordChange,
      responses: { 204: { description: 'Changed', headers: { 'Set-Cookie': 'The session, HttpOnly' } } },
      problems: ['invalid_state'],
      async handle({ caller: { userId, workspaceId, sessionId, email }, body, address }) {
        const { current_password: current, new_password: wanted } = body;
        const oldHash = await findPasswordHash(deps.database, userId);
        if (oldHash === null) {
          throw new Problem(
            'invalid_state',
            'Your account has no password. You sign in with your identity provider.',
          );
        }
        const isRight = await deps.passwordAttempts.verify({ email, address: networkOf(address) }, () =>
          verifyPassword(current, oldHash),
        );
        if (!isRight) throw wrong('/current_password', '`current_password` is wrong.');
        if (current.normalize('NFC') === wanted.normalize('NFC')) {
          throw wrong('/new_password', '`new_password` must differ from your current password.');
        }
        const { value, hash: tokenHash } = newSessionToken();
        const newHash = await hashPassword(wanted);
        const now = deps.clock();
        const plan = { userId, workspaceId, sessionId, oldHash, newHash, tokenHash, now };
        if (!(await changePassword(deps.database, plan))) {
          throw new Problem(
            'conflict',
            'Your password was changed at the same time elsewhere. Sign in again.',
          );
        }
        return { status: 204, headers: { 'Set-Cookie': sessionCookie(deps.baseUrl, value) } };
      },
    }),
  ];
}

function wrong(pointer: string, message: string): Problem {
  return new Problem('validation_failed', message, { errors: [{ pointer, code: 'not_allowed', message }] });
}
