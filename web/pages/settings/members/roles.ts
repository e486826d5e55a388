import type { Role } from '../../../../src/domain/people/access.ts';

/** The permissions of each role as text. */
export const ROLE_DESCRIPTIONS: Readonly<Record<Role, string>> = {
  viewer: 'can view everything except keys, secrets, invitations and the audit log',
  member: 'viewer who can also submit, control and delete tasks',
  admin: 'member who can also manage webhooks, keys, projects and members, and read the audit log',
  owner: 'admin who can also manage owners',
};
