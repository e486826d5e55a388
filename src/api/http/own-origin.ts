import type { IncomingHttpHeaders } from 'node:http';
import { isFromOwnPage } from '../../security/sessions.ts';
import { Problem } from './problem.ts';

/**
 * Rejects a request from a page of another origin. For requests that set a session cookie without needing one: another
 * site must not sign its visitors in to another account. Browsers send `Origin` with each such request; a client
 * without it is not a browser.
 * @throws Problem `forbidden`
 */
export function requireOwnOrigin(baseUrl: string, headers: IncomingHttpHeaders): void {
  if (headers.origin === undefined || isFromOwnPage(baseUrl, headers)) return;
  throw new Problem('forbidden', 'Sign-in is only allowed from pages of this service (header Origin).');
}
