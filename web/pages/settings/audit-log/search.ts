import { AUDIT_AREAS, type AuditArea } from '../../../../src/domain/people/audit-actions.ts';
import { textOf, wordsOf } from '../../../routing/search.ts';

/** How far back the list goes, in hours. */
export const SPANS = { day: 24, week: 7 * 24, month: 30 * 24 } as const;
export type Span = keyof typeof SPANS;

/** The filters of the list: what was changed, who did it, since when. */
export type AuditSearch = { what?: AuditArea[]; who?: string; since?: Span };

/** What an address says about the list; what means nothing is left out. */
export function auditSearch(search: Record<string, unknown>): AuditSearch {
  const [what, who] = [wordsOf(search['what'], AUDIT_AREAS), textOf(search['who'])];
  const [since] = wordsOf(search['since'], ['day', 'week', 'month']) ?? [];
  return { ...(what && { what }), ...(who && { who }), ...(since && { since }) };
}
