import type { IncomingHttpHeaders } from 'node:http';
import { isOwnOrigin } from '../../security/sessions.ts';
import { Problem } from './problem.ts';

/**
 * For requests that need no cookie but leave one: a page of somebody else must not sign its visitors in as another
 * person. Browsers name the page's `Origin` with every such request; what names none is no browser.
 * @throws Problem `forbidden`
 */
export function demandOwnPage(baseUrl: string, { origin }: IncomingHttpHeaders): void {
  if (origin === undefined || isOwnOrigin(baseUrl, origin)) return;
  throw new Problem('forbidden', 'Sign-in is only allowed from pages of this service (header Origin).');
}
