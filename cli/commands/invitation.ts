import { type Command, Option } from 'commander';
import { ROLES, type Role } from '../../src/domain/people/access.ts';
import { INVITATION_STATUSES } from '../../src/domain/people/invitation.ts';
import { contextOf } from '../context.ts';
import { idOf } from '../ids.ts';
import { fields, table } from '../output.ts';
import type { Page } from '../shapes.ts';
import { addPaging, moreLine, type Paging } from './paging.ts';

const INVITATIONS = '/api/v1/invitations';

export type Invitation = { id: string; email: string; role: Role; status: string; expires_at: string };
export type NewInvitation = Invitation & { url: string; mail: 'sent' | 'failed' | 'pending' | 'off' };

const MAIL_WORDS: Record<NewInvitation['mail'], string> = {
  sent: 'sent',
  failed: 'failed: send the link yourself',
  pending: 'pending: send the link yourself',
  off: 'not configured: send the link yourself',
};

/** `baton member invite`, `invitations` and `uninvite`. */
export function addInvitationCommands(member: Command): void {
  member
    .command('invite')
    .description('Invite a person with a link that works once (admins)')
    .requiredOption('--email <address>', 'e-mail address of the person')
    .addOption(new Option('--role <role>', 'up to your own role').choices(ROLES).makeOptionMandatory())
    .action(async ({ email, role }: { email: string; role: string }, command: Command) => {
      const { apiForPeople, output } = contextOf(command);
      const api = await apiForPeople();
      const made = await api.call<NewInvitation>('POST', INVITATIONS, { body: { email, role } });
      output.document(made);
      output.line(describeInvitation(made));
    });
  addPaging(member.command('invitations').description('List invitations, newest first (admins)'))
    .addOption(new Option('--status <status...>', 'only these statuses').choices(INVITATION_STATUSES))
    .action(async (options: Paging & { status?: string[] }, command: Command) => {
      const { apiForPeople, output } = contextOf(command);
      const api = await apiForPeople();
      const page = await api.call<Page<Invitation>>('GET', INVITATIONS, { query: { ...options } });
      output.document(page);
      const rows = page.data.map(({ id, email, role, status, expires_at }) => [
        id,
        email,
        role,
        status,
        expires_at,
      ]);
      output.line(table(['INVITATION', 'E-MAIL', 'ROLE', 'STATUS', 'EXPIRES'], rows) + moreLine(page));
    });
  member
    .command('uninvite <invitation-id>')
    .description('Revoke an invitation (admins)')
    .action(async (id: string, _options: object, command: Command) => {
      const { apiForPeople, output } = contextOf(command);
      await (await apiForPeople()).call('DELETE', `${INVITATIONS}/${idOf('invitation', id)}`);
      output.document({ id, revoked: true });
      output.line(`${id} revoked`);
    });
}

/** Formats a new invitation, with its link. */
export function describeInvitation(made: NewInvitation): string {
  return fields([
    ['Invitation', made.id],
    ['E-mail', made.email],
    ['Role', made.role],
    ['Expires', made.expires_at],
    ['Link', made.url],
    ['Mail', MAIL_WORDS[made.mail]],
  ]);
}
