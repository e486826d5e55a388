import { setTimeout as wait } from 'node:timers/promises';
import type { z } from 'zod';
import { markInvitationMailed, type InvitationRow } from '../../database/people/invitations.ts';
import { invitationMail } from '../../mail/invitation.ts';
import type { Dependencies } from '../dependencies.ts';
import type { newInvitation } from './schema.ts';

/** How long a response waits for the mail server, in milliseconds. */
const WAIT_MS = 5_000;

/** The outcome of a mail at the time of the response. */
export type MailOutcome = z.infer<typeof newInvitation>['mail'];

/**
 * Mails the link to the invited person, if a mail server is configured. Only this process knows the link, so there is
 * no second attempt. The response reports the outcome and contains the link.
 */
export async function mailInvitation(
  { database, mailer, log, clock }: Pick<Dependencies, 'database' | 'mailer' | 'log' | 'clock'>,
  { id, email, role, expires_at: expiresAt, inviter }: InvitationRow,
  { url, workspace }: { url: string; workspace: string },
): Promise<MailOutcome> {
  if (mailer === null) return 'off';
  const mail = invitationMail({ inviter: inviter?.name ?? null, workspace, role, expiresAt, url });
  const sending = mailer
    .send({ to: email, id, ...mail })
    .then(async () => {
      await markInvitationMailed(database, id, clock());
      return 'sent' as const;
    })
    .catch((error: unknown) => {
      log.warn({ err: error, invitation: id }, 'mailing an invitation failed');
      return 'failed' as const;
    });
  return await Promise.race([sending, wait(WAIT_MS, 'pending' as const, { ref: false })]);
}
