import { z } from 'zod';
import { ROLES, hasRole, type Role } from './access.ts';
import { email, newPassword, personName } from './person-fields.ts';

/** Statuses of an invitation. */
export const INVITATION_STATUSES = ['open', 'accepted', 'expired', 'revoked'] as const;
export type InvitationStatus = (typeof INVITATION_STATUSES)[number];

type Times = {
  accepted_at?: Date | null | undefined;
  revoked_at?: Date | null | undefined;
  expires_at: Date;
};

/** Returns the current status of an invitation. */
export function statusOfInvitation(
  { accepted_at, revoked_at, expires_at }: Times,
  now: Date,
): InvitationStatus {
  if (accepted_at) return 'accepted';
  if (revoked_at) return 'revoked';
  return expires_at <= now ? 'expired' : 'open';
}

/** Returns the roles that a person with this role may invite to: for admins and owners, all up to their own. */
export function rolesToInvite(role: Role): readonly Role[] {
  return hasRole(role, 'admin') ? ROLES.filter((other) => hasRole(role, other)) : [];
}

/** A new invitation. */
export const invitationPlan = z
  .strictObject({ email, role: z.enum(ROLES).describe('Up to your own role') })
  .meta({ id: 'InvitationPlan', example: { email: 'ada@example.com', role: 'member' } });

/** Required fields of a new person. */
export const newPerson = z.object({ name: personName, password: newPassword });
