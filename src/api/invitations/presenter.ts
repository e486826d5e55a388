import { statusOfInvitation } from '../../domain/people/invitation.ts';
import type { ShownInvitation } from '../../database/people/acceptance.ts';
import type { InvitationRow } from '../../database/people/invitations.ts';

/** Returns an invitation for admins, without its token or the hash of it. */
export function presentInvitation(row: InvitationRow, now: Date) {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    status: statusOfInvitation(row, now),
    invited_by: row.inviter,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    emailed_at: row.emailed_at?.toISOString() ?? null,
    accepted_at: row.accepted_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
  };
}

/** Returns an invitation for the holder of its link. */
export function presentToInvited({ email, role, workspace, inviter, expiresAt, person }: ShownInvitation) {
  const account = person === null ? 'new' : person.passwordHash === null ? 'openid' : 'password';
  return { email, role, workspace, invited_by: inviter, expires_at: expiresAt.toISOString(), account };
}
