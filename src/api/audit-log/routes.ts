import { z } from 'zod';
import { DEFAULT_PAGE } from '../../domain/limits.ts';
import { AUDIT_ACTIONS, listAudit, type AuditRow } from '../../database/audit.ts';
import type { Dependencies } from '../dependencies.ts';
import { cutPage, pageOf, pageParameters, timestamp, uuidOut } from '../http/fields.ts';
import { route, type Route } from '../http/route.ts';

const entry = z
  .strictObject({
    id: uuidOut,
    actor: z.string().describe('`user:<id>`, `key:<id>` or `system`'),
    action: z.enum(AUDIT_ACTIONS),
    subject: z.string(),
    detail: z.record(z.string(), z.unknown()),
    at: timestamp,
  })
  .meta({ id: 'AuditEntry' });

/** Who changed what: keys, members, projects, sessions. */
export function auditLogRoutes(deps: Dependencies): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/v1/audit-log',
      operationId: 'listAuditLog',
      tag: 'audit log',
      summary: 'List changes, newest first',
      access: { kind: 'person', least: 'admin' },
      query: z.strictObject(pageParameters),
      answers: { 200: { description: 'A page of entries', schema: pageOf(entry).meta({ id: 'AuditPage' }) } },
      async handle({ caller: { workspaceId }, query: { limit = DEFAULT_PAGE, cursor } }) {
        const found = await listAudit(deps.database, { workspaceId, cursor, limit: limit + 1 });
        const { rows, nextCursor } = cutPage(found, limit);
        return { status: 200, body: { data: rows.map(present), next_cursor: nextCursor } };
      },
    }),
  ];
}

function present(row: AuditRow) {
  const { id, actor, action, subject, detail, at } = row;
  return { id, actor, action, subject, detail, at: at.toISOString() };
}
