import type { Role } from '../../../../src/domain/people/access.ts';

/** The permissions of each role as text. */
export const ROLE_DESCRIPTIONS: Readonly<Record<Role, string>> = {
  viewer: 'views everything',
  member: 'also submits and controls tasks',
  admin: 'also manages webhooks, keys, projects and members',
  owner: 'manages everything',
};
