import { z } from 'zod';
import { DEFAULT_PAGE, MAX_ACTOR_LENGTH } from '../../domain/common/limits.ts';
import { AUDIT_ACTIONS } from '../../domain/people/audit-actions.ts';
import { readActorLabels } from '../../database/people/actors.ts';
import { listAudit, type AuditRow } from '../../database/people/audit.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  cutPage,
  givenTime,
  listParameter,
  pageOf,
  pageParameters,
  text,
  timestamp,
  uuidOut,
} from '../http/fields.ts';
import { route, type Route } from '../http/route.ts';

/** Maximum length of an actor. The subject of another issuer's token can be long. */

const entry = z
  .strictObject({
    id: uuidOut,
    actor: z.string().describe('`user:<id>`, `key:<id>`, `token:<subject>` or `system`'),
    actor_label: z
      .string()
      .describe('Readable form: `user:<email>`, `key:<prefix>`, otherwise the same as `actor`'),
    action: z.enum(AUDIT_ACTIONS),
    subject: z.string().describe('Target of the action, for example `key:<id>`'),
    subject_label: z.string().describe('Readable form, as in `actor_label`'),
    detail: z.record(z.string(), z.unknown()),
    at: timestamp,
  })
  .meta({ id: 'AuditEntry' });

const listParameters = z.strictObject({
  ...pageParameters,
  action: listParameter(AUDIT_ACTIONS).optional().describe('Only these actions'),
  actor: text({ least: 1, most: MAX_ACTOR_LENGTH }).optional().describe('Only actions of this actor'),
  created_after: givenTime.optional().describe('At or after this time'),
  created_before: givenTime.optional().describe('Before this time'),
});

/** Returns the route that lists changes of keys, members, projects, sessions, webhooks, deliveries and tasks. */
export function auditLogRoutes(deps: Dependencies): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/v1/audit-log',
      operationId: 'listAuditLog',
      tag: 'audit log',
      summary: 'List audit log entries, newest first',
      access: { kind: 'person', least: 'admin' },
      query: listParameters,
      responses: {
        200: { description: 'A page of entries', schema: pageOf(entry).meta({ id: 'AuditPage' }) },
      },
      async handle({ caller: { workspaceId }, query: { limit = DEFAULT_PAGE, ...query } }) {
        const found = await listAudit(deps.database, {
          workspaceId,
          cursor: query.cursor,
          actions: query.action,
          actor: query.actor,
          createdAfter: query.created_after,
          createdBefore: query.created_before,
          limit: limit + 1,
        });
        const { rows, nextCursor } = cutPage(found, limit);
        const labelOf = await readActorLabels(
          deps.database,
          rows.flatMap(({ actor, subject }) => [actor, subject]),
        );
        const data = rows.map((row) => present(row, labelOf));
        return { status: 200, body: { data, next_cursor: nextCursor } };
      },
    }),
  ];
}

function present(row: AuditRow, labelOf: (actor: string) => string) {
  const { id, actor, action, subject, detail, at } = row;
  const labels = { actor_label: labelOf(actor), subject_label: labelOf(subject) };
  return { id, actor, action, subject, ...labels, detail, at: at.toISOString() };
}
