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
    emailed_at: timestamp.nullable().describe('When the mail server accepted the mail'),
    accepted_at: timestamp.nullable(),
    revoked_at: timestamp.nullable().describe('When it was revoked or replaced by a newer invitation'),
  })
  .meta({ id: 'Invitation' });
export const invitationPage = pageOf(invitationView).meta({ id: 'InvitationPage' });

/** Outcome of the mail at the time of the response. */
export const MAIL_OUTCOMES = ['sent', 'failed', 'pending', 'off'] as const;

/** The only response that contains the link. */
export const newInvitation = invitationView
  .extend({
    url: z.string().describe('The link to send, shown once'),
    mail: z
      .enum(MAIL_OUTCOMES)
      .describe(
        '`off`: no mail server is configured; `pending`: the server has not answered yet. In both cases send the link yourself',
      ),
  })
  .meta({ id: 'NewInvitation' });

/** The token behind the `#` of the link. */
const token = z.string().max(200).describe('The part of the link after #');

export const lookUp = z.strictObject({ token }).meta({ id: 'InvitationToken' });

export const shownInvitation = z
  .strictObject({
    email: z.string(),
    role: z.enum(ROLES),
    workspace: z.strictObject({ id: uuidOut, name: z.string() }),
    invited_by: z.string().nullable().describe('Name of the person'),
    expires_at: timestamp,
    account: z
      .enum(['new', 'password', 'openid'])
      .describe(
        '`new`: accept with a new name and password. `password`: the address has an account; accept ' +
          'with its password, or join when signed in. `openid`: the account has no password; accept by signing ' +
          'in with the provider',
      ),
  })
  .meta({ id: 'InvitationPreview' });

export const acceptance = z
  .strictObject({
    token,
    name: personName.optional().describe('Required for a new account'),
    password: givenPassword.describe(
      'A new password for a new account, otherwise the password of the account',
    ),
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
