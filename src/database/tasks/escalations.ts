import { sql } from 'kysely';
import { ROLES, hasRole } from '../../domain/people/access.ts';
import { NOTICES, subjectOf } from '../../domain/people/notice.ts';
import type { Escalation } from '../../domain/tasks/run-schemas.ts';
import { derivedUuid } from '../common/ids.ts';
import { queryBuilderOf, type Database } from '../database.ts';

const KIND = 'task.escalated';

/**
 * Creates a notice about an escalated run for everybody in its workspace who may take it over. A repeat creates no
 * further notices: their ids come from the recorded escalation, whose time stays when the work is repeated later.
 */
export async function createEscalationNotices(database: Database, executionId: string): Promise<void> {
  const db = queryBuilderOf(database);
  const roles = ROLES.filter((role) => hasRole(role, NOTICES[KIND].least));
  const { rows } = await sql<{ user_id: string; escalation: Escalation }>`
    select m.user_id, r.escalation from members m join task_runs r on r.workspace_id = m.workspace_id
    where r.id = ${executionId}::uuid and r.escalation is not null and m.role = any(${roles}::text[])
  `.execute(db);
  const [first] = rows;
  if (!first) return;
  const { reason, step, agent, at } = first.escalation;
  const notices = rows.map(({ user_id }) => ({
    id: derivedUuid(new Date(at), `${executionId}:escalated:${user_id}`),
    user_id,
  }));
  const detail = JSON.stringify({ execution_id: executionId, reason, step, agent, escalated_at: at });
  await sql`
    insert into notifications (id, workspace_id, user_id, kind, subject, detail, created_at)
    select n.id, r.workspace_id, n.user_id, ${KIND}, ${subjectOf({ kind: KIND, id: executionId })},
      ${detail}::jsonb || jsonb_build_object('title', r.title, 'project', p.name), ${at}::timestamptz
    from json_to_recordset(${JSON.stringify(notices)}::json) as n (id uuid, user_id uuid),
      task_runs r join projects p on p.id = r.project_id
    where r.id = ${executionId}::uuid
    on conflict do nothing
  `.execute(db);
}
