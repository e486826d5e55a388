import { newPerson } from '../../domain/people/invitation.ts';
import {
  acceptInvitation,
  findInvitation,
  type Accepting,
  type AcceptanceRefusal,
  type ShownInvitation,
} from '../../database/people/acceptance.ts';
import { hashOfSecret } from '../../security/keys.ts';
import { hashPassword, verifyPassword } from '../../security/passwords.ts';
import type { Dependencies } from '../dependencies.ts';
import { unauthenticated } from '../http/authentication.ts';
import { networkOf } from '../http/client-address.ts';
import { requireOwnOrigin } from '../http/own-origin.ts';
import { Problem } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';
import { validated } from '../http/validation.ts';
import { planSession, sessionResponse, signedIn } from '../account/session/begin.ts';
import { presentToInvited } from './presenter.ts';
import * as schema from './schema.ts';

const PATH = '/api/v1/invitations';
const tag = 'invitation';

/** Returns the routes for the holder of an invitation link. The token is in the body, so that it is not logged. */
export function acceptanceRoutes(deps: Dependencies): Route[] {
  return [lookUp(deps), accept(deps), join(deps)];
}

function lookUp(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${PATH}/look-up`,
    operationId: 'lookUpInvitation',
    tag,
    summary: 'Get an invitation',
    access: { kind: 'public' },
    body: schema.lookUp,
    responses: { 200: { description: 'The invitation', schema: schema.shownInvitation } },
    problems: ['not_found', 'invalid_state', 'conflict'],
    handle: async ({ body: { token } }) => ({
      status: 200,
      body: presentToInvited(await findOpen(deps, token)),
    }),
  });
}

function accept(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${PATH}/accept`,
    operationId: 'acceptInvitation',
    tag,
    summary: 'Accept an invitation and sign in',
    access: { kind: 'public' },
    limit: 'sign_in',
    body: schema.acceptance,
    responses: {
      201: { description: 'Signed in', schema: signedIn, headers: { 'Set-Cookie': 'The session, HttpOnly' } },
    },
    problems: ['unauthenticated', 'forbidden', 'not_found', 'invalid_state', 'conflict'],
    async handle({ body: { token, name, password }, headers, address }) {
      requireOwnOrigin(deps.baseUrl, headers);
      const invitation = await findOpen(deps, token);
      const accepting = await resolveAccepting(deps, invitation, { name, password, address });
      const { plan: session, cookie } = planSession(deps, { headers, address });
      const tokenHash = hashOfSecret(token);
      const done = await acceptInvitation(deps.database, { tokenHash, accepting, session, now: session.now });
      if (typeof done === 'string') throw refusalOf(done);
      return await sessionResponse(deps, session, cookie);
    },
  });
}

function join(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: `${PATH}/join`,
    operationId: 'joinByInvitation',
    tag,
    summary: 'Accept an invitation to another workspace as the signed-in user',
    access: { kind: 'person', least: 'viewer' },
    body: schema.lookUp,
    responses: { 200: { description: 'Joined', schema: schema.joined } },
    problems: ['not_found', 'invalid_state', 'conflict'],
    async handle({ caller: { userId, email }, body: { token } }) {
      const { workspace, role, email: invited } = await findOpen(deps, token);
      if (invited !== email) throw refusalOf('not_yours');
      const accepting = { kind: 'signed_in', userId } as const;
      const acceptance = { tokenHash: hashOfSecret(token), accepting, session: null, now: deps.clock() };
      const done = await acceptInvitation(deps.database, acceptance);
      if (typeof done === 'string') throw refusalOf(done);
      return { status: 200, body: { workspace, role } };
    },
  });
}

/** Returns who accepts: a new person with a name and a password, or the account that the password belongs to. */
async function resolveAccepting(
  deps: Dependencies,
  { email, person }: ShownInvitation,
  { address, ...given }: { name: string | undefined; password: string; address: string },
): Promise<Accepting> {
  if (person === null) {
    const { name, password } = validated(newPerson, given, 'body');
    return { kind: 'new', name, passwordHash: await hashPassword(password) };
  }
  const { userId, passwordHash } = person;
  if (passwordHash === null) {
    throw new Problem(
      'invalid_state',
      'This account has no password. Sign in with your identity provider to accept.',
    );
  }
  const isRight = await deps.passwordAttempts.verify({ email, address: networkOf(address) }, () =>
    verifyPassword(given.password, passwordHash),
  );
  if (!isRight) throw unauthenticated('The password is wrong.');
  return { kind: 'password', userId, passwordHash };
}

async function findOpen(deps: Dependencies, token: string): Promise<ShownInvitation> {
  const invitation = await findInvitation(deps.database, hashOfSecret(token), deps.clock());
  if (invitation === null) throw refusalOf('missing');
  if (invitation.status !== 'open') throw refusalOf(invitation.status);
  if (invitation.person?.isMember) throw refusalOf('member');
  return invitation;
}

function refusalOf(reason: AcceptanceRefusal): Problem {
  switch (reason) {
    case 'missing':
      return new Problem('not_found', 'The invitation does not exist. Check that you copied the whole link.');
    case 'accepted':
      return new Problem('invalid_state', 'This invitation was already accepted. Sign in instead.');
    case 'expired':
      return new Problem('invalid_state', 'This invitation has expired. Ask for a new one.');
    case 'revoked':
      return new Problem('invalid_state', 'This invitation was revoked. Ask for a new one.');
    case 'not_yours':
      return new Problem('forbidden', 'This invitation is for another e-mail address.');
    case 'member':
      return new Problem('conflict', 'You are already a member. Sign in instead.');
    case 'initial_password':
      return new Problem(
        'invalid_state',
        'An admin set the password of your account. Sign in, change your password, and then accept the invitation.',
      );
    case 'changed':
      return new Problem('conflict', 'The account has just changed. Try again.');
  }
}
