import { z } from 'zod';
import { ROLES } from './access.ts';
import { email, newPassword, personName } from './person-fields.ts';

/** Whom to invite as what. */
export const invitationPlan = z
  .strictObject({ email, role: z.enum(ROLES).describe('Your own at most') })
  .meta({ id: 'InvitationPlan', example: { email: 'ada@example.com', role: 'member' } });

/** What somebody new must give. */
export const newPerson = z.object({ name: personName, password: newPassword });
