import { invitationPlan } from '../../domain/people/invitation.ts';
import { DEFAULT_PAGE, INVITATION_MS, MAX_OPEN_INVITATIONS } from '../../domain/common/limits.ts';
import {
  createInvitation,
  listInvitations,
  revokeInvitation,
  type InvitationRow,
} from '../../database/people/invitations.ts';
import { findWorkspace } from '../../database/people/projects.ts';
import { invitationLink, newInvitationToken } from '../../security/keys.ts';
import type { Dependencies } from '../dependencies.ts';
import { cutPage } from '../http/fields.ts';
import { answerWithChange } from '../http/answer-with-change.ts';
import { notFound, Problem } from '../http/problem.ts';
import { route, type Route } from '../http/route.ts';
import { acceptanceRoutes } from './accept.ts';
import { mailInvitation, type MailOutcome } from './mail.ts';
import { presentInvitation } from './presenter.ts';
import * as schema from './schema.ts';

const PATH = '/api/v1/invitations';
const access = { kind: 'person', least: 'admin' } as const;
const tag = 'invitation';

/** Returns the routes for inviting people by a link that works once. */
export function invitationRoutes(deps: Dependencies): Route[] {
  return [list(deps), create(deps), revoke(deps), ...acceptanceRoutes(deps)];
}

function list(deps: Dependencies): Route {
  return route({
    method: 'get',
    path: PATH,
    operationId: 'listInvitations',
    tag,
    summary: 'List invitations, newest first',
    access,
    query: schema.invitationListParameters,
    responses: { 200: { description: 'A page of invitations', schema: schema.invitationPage } },
    async handle({ caller: { workspaceId }, query: { limit = DEFAULT_PAGE, cursor, status: statuses } }) {
      const now = deps.clock();
      const page = { workspaceId, statuses, now, cursor, limit: limit + 1 };
      const { rows, nextCursor } = cutPage(await listInvitations(deps.database, page), limit);
      const data = rows.map((row) => presentInvitation(row, now));
      return { status: 200, body: { data, next_cursor: nextCursor } };
    },
  });
}

function create(deps: Dependencies): Route {
  return route({
    method: 'post',
    path: PATH,
    operationId: 'createInvitation',
    tag,
    summary: 'Invite a person by link, and by mail if a mail server is configured',
    description: 'Revokes an open invitation for the same address.',
    access,
    body: invitationPlan,
    idempotent: true,
    responses: {
      201: { description: 'The invitation with its link, shown once', schema: schema.newInvitation },
    },
    problems: ['conflict'],
    async handle({ caller: { workspaceId, userId }, body: { email, role }, claim }) {
      const now = deps.clock();
      const expiresAt = new Date(now.getTime() + INVITATION_MS);
      const { token, hash: tokenHash } = newInvitationToken();
      const url = invitationLink(deps.baseUrl, token);
      const answerOf = (row: InvitationRow, mail: MailOutcome) => {
        const emailed_at = mail === 'sent' ? deps.clock().toISOString() : null;
        return { status: 201, body: { ...presentInvitation(row, now), emailed_at, url, mail } };
      };
      // If the process dies before it knows the outcome of the mail, a repeat gets the link to send.
      const unmailed = deps.mailer === null ? 'off' : 'pending';
      const withChange = answerWithChange(deps, claim, (row: InvitationRow) => answerOf(row, unmailed));
      const plan = { workspaceId, userId, email, role, tokenHash, now, expiresAt, withChange };
      const made = await createInvitation(deps.database, plan);
      if (typeof made === 'string') throw refusalOf(made, email);
      const workspace = (await findWorkspace(deps.database, workspaceId))?.name ?? '';
      return answerOf(made, await mailInvitation(deps, made, { url, workspace }));
    },
  });
}

function revoke(deps: Dependencies): Route {
  return route({
    method: 'delete',
    path: `${PATH}/{id}`,
    operationId: 'revokeInvitation',
    tag,
    summary: 'Revoke an invitation',
    access,
    params: schema.invitationParams,
    responses: { 204: { description: 'Revoked, or already revoked' } },
    problems: ['invalid_state'],
    async handle({ caller: { workspaceId, userId }, params: { id } }) {
      const refused = await revokeInvitation(deps.database, { workspaceId, userId, id, now: deps.clock() });
      if (refused === 'missing') throw notFound(tag);
      if (refused === 'not_allowed') throw refusalOf(refused, '');
      if (refused === 'accepted') {
        throw new Problem('invalid_state', 'The invitation was already accepted. Remove the member instead.');
      }
      return { status: 204 };
    },
  });
}

function refusalOf(reason: 'member' | 'not_allowed' | 'too_many', email: string): Problem {
  switch (reason) {
    case 'member':
      return new Problem('conflict', `${email} is already a member.`);
    case 'not_allowed':
      return new Problem('forbidden', 'You can create and revoke invitations only up to your own role.');
    case 'too_many':
      return new Problem(
        'conflict',
        `The workspace has reached its limit of ${MAX_OPEN_INVITATIONS} open invitations. Revoke some first.`,
      );
  }
}
