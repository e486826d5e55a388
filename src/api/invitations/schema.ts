import { z } from 'zod';
import { ROLES } from '../../domain/people/access.ts';
import { INVITATION_STATUSES } from '../../domain/people/invitation.ts';
import { listParameter, pageOf, pageParameters, timestamp, uuid, uuidOut } from '../http/fields.ts';
import { givenPassword, personName } from '../../domain/people/person-fields.ts';

export const invitationView = z
  .strictObject({
    id: uuidOut,
    email: z.string(),
    role: z.enum(ROLES),
    status: z.enum(INVITATION_STATUSES),
    invited_by: z.strictObject({ id: uuidOut, name: z.string() }).nullable(),
    created_at: timestamp,
    expires_at: timestamp,
    emailed_at: timestamp.nullable().describe('When the mail server took the mail about it'),
    accepted_at: timestamp.nullable(),
    revoked_at: timestamp.nullable().describe('Revoked, or replaced by a newer one'),
  })
  .meta({ id: 'Invitation' });
export const invitationPage = pageOf(invitationView).meta({ id: 'InvitationPage' });

/** How the mail about an invitation fared while the request was answered. */
export const MAIL_OUTCOMES = ['sent', 'failed', 'pending', 'off'] as const;

/** The only answer that holds the link. */
export const newInvitation = invitationView
  .extend({
    url: z.string().describe('The link to pass on, shown this once'),
    mail: z
      .enum(MAIL_OUTCOMES)
      .describe(
        '`off`: no mail server is configured; `pending`: the server takes its time. Pass the link on yourself',
      ),
  })
  .meta({ id: 'NewInvitation' });

/** Behind the `#` of the link. */
const token = z.string().max(200).describe('What stands behind the # of the link');

export const lookUp = z.strictObject({ token }).meta({ id: 'InvitationToken' });

export const shownInvitation = z
  .strictObject({
    email: z.string(),
    role: z.enum(ROLES),
    workspace: z.strictObject({ id: uuidOut, name: z.string() }),
    invited_by: z.string().nullable().describe("The person's name"),
    expires_at: timestamp,
    account: z
      .enum(['new', 'password', 'openid'])
      .describe(
        '`new`: accepted with a name and a password to choose; `password`: the address has an account, accepted ' +
          'with its password or by joining when signed in; `openid`: its account has no password, so signing in ' +
          'at the provider accepts it',
      ),
  })
  .meta({ id: 'ShownInvitation' });

export const acceptance = z
  .strictObject({
    token,
    name: personName.optional().describe('Needed of somebody new'),
    password: givenPassword.describe('A new one of somebody new, else that of the account'),
  })
  .meta({ id: 'InvitationAcceptance' });

export const joined = z
  .strictObject({ workspace: z.strictObject({ id: uuidOut, name: z.string() }), role: z.enum(ROLES) })
  .meta({ id: 'Joined' });

export const invitationParams = z.strictObject({ id: uuid });
export const invitationListParameters = z.strictObject({
  ...pageParameters,
  status: listParameter(INVITATION_STATUSES).optional(),
});
