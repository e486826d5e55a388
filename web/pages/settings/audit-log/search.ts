import { AUDIT_AREAS, type AuditArea } from '../../../../src/domain/people/audit-actions.ts';
import { parseText, parseList } from '../../../routing/search.ts';

/** How far back the list goes, in hours. */
export const SPANS = { day: 24, week: 7 * 24, month: 30 * 24 } as const;
export type Span = keyof typeof SPANS;

/** The filters of the list: what was changed, who did it, since when. */
export type AuditSearch = { what?: AuditArea[]; who?: string; since?: Span };

/** Returns the valid filters of an address. */
export function auditSearch(search: Record<string, unknown>): AuditSearch {
  const [what, who] = [parseList(search['what'], AUDIT_AREAS), parseText(search['who'])];
  const [since] = parseList(search['since'], ['day', 'week', 'month']) ?? [];
  return { ...(what && { what }), ...(who && { who }), ...(since && { since }) };
}
