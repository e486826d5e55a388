import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { mailInvitation } from '../../src/api/invitations/mail.ts';
import type { InvitationRow } from '../../src/database/people/invitations.ts';
import type { Mail, Mailer } from '../../src/mail/mailer.ts';
import { useInstallation } from '../support/installation.ts';

describe('the mail of an invitation', () => {
  const fresh = useInstallation();

  it('names its inviter, or an admin if that person is unknown', async () => {
    const sent: Mail[] = [];
    const mailer: Mailer = { send: async (mail) => void sent.push(mail), close: () => {} };
    const log = pino({ level: 'silent' });
    const deps = { database: fresh.database, mailer, log, clock: () => new Date() };
    const place = { url: 'https://baton.example.com/invitation#x', workspace: 'Acme' };
    for (const inviter of [{ id: randomUUID(), name: 'Ada' }, null]) {
      const invitation = { id: randomUUID(), email: 'bob@example.com', role: 'member', inviter };
      const row = { ...invitation, expires_at: new Date('2026-01-31T12:00:00Z') } as InvitationRow;
      assert.equal(await mailInvitation(deps, row, place), 'sent');
    }
    const invitations = sent.map(({ to, text }) => [to, /^.* invites you/m.exec(text)?.[0]]);
    assert.deepEqual(invitations, [
      ['bob@example.com', 'Ada invites you'],
      ['bob@example.com', 'An admin invites you'],
    ]);
  });
});
