import { randomBytes } from 'node:crypto';
import { hashOfSecret } from './keys.ts';

/** The token of a new invitation, 32 random bytes, and the hash that is stored of it. */
export function newInvitationToken(): { token: string; hash: string } {
  const token = randomBytes(32).toString('base64url');
  return { token, hash: hashOfSecret(token) };
}

/** The link that is shown once. What is behind `#` stays in the browser and reaches no log. */
export function invitationLink(baseUrl: string, token: string): string {
  return `${baseUrl}/invitation#${token}`;
}
