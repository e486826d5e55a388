import type { Role } from '../../../../src/domain/people/access.ts';

/** What each role may do, in words. */
export const ROLE_WORDS: Readonly<Record<Role, string>> = {
  viewer: 'sees everything',
  member: 'also submits and steers tasks',
  admin: 'also webhooks, keys, projects and members',
  owner: 'everything',
};
