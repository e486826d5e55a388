import { actionsOf } from '../../../../src/domain/people/audit-actions.ts';
import { unwrap, api, type Schemas } from '../../../api/client.ts';
import { pagedQuery } from '../../../api/pages.ts';
import { SPANS, type AuditSearch } from './search.ts';

export type AuditEntry = Schemas['AuditEntry'];

const HOUR_MS = 3_600_000;

/** The entries of the audit log, newest first. */
export function auditQuery(search: AuditSearch) {
  const { what = [], who, since } = search;
  return pagedQuery<AuditEntry>(['audit-log', search], async (cursor, signal) => {
    const query = {
      ...(what.length > 0 ? { action: actionsOf(what) } : {}),
      ...(who ? { actor: who } : {}),
      ...(since ? { created_after: new Date(Date.now() - SPANS[since] * HOUR_MS).toISOString() } : {}),
      ...(cursor ? { cursor } : {}),
    };
    return await unwrap(api.GET('/api/v1/audit-log', { params: { query }, signal }));
  });
}
