import type { Role } from '../../../../src/domain/people/access.ts';

/** The permissions of each role as text. */
export const ROLE_DESCRIPTIONS: Readonly<Record<Role, string>> = {
  viewer: 'Can view everything except keys, secrets, invitations and the audit log',
  member: 'Can do everything a viewer can, and submit, control and delete tasks',
  admin:
    'Can do everything a member can, manage webhooks, keys, projects and members, and read the audit log',
  owner: 'Can do everything an admin can, and manage owners',
};
