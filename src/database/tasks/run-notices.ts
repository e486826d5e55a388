import { sql } from 'kysely';
import { ROLES, hasRole } from '../../domain/people/access.ts';
import { NOTICES, subjectOf, type RunNoticeKind } from '../../domain/people/notice.ts';
import type { Escalation, Question } from '../../domain/tasks/run-schemas.ts';
import { FIRST_QUESTION } from '../../domain/tasks/run-state.ts';
import { derivedUuid } from '../common/ids.ts';
import { queryBuilderOf, type Database } from '../database.ts';

type Row = { user_id: string; escalation: Escalation | null; question: Question | null };
/** What happened, when, and what the notices say about it. `key` distinguishes it from others of the same run. */
type Happened = { key: string; at: string; detail: Record<string, unknown> };

/**
 * Creates a notice about an escalated run, or about the open question of a run, for everybody in its workspace who may
 * decide or answer. A repeat creates no further notices: their ids come from the recorded escalation or question, whose
 * time stays when the work is repeated later.
 */
export async function createRunNotices(
  database: Database,
  executionId: string,
  kind: RunNoticeKind,
): Promise<void> {
  const db = queryBuilderOf(database);
  const roles = ROLES.filter((role) => hasRole(role, NOTICES[kind].least));
  const { rows } = await sql<Row>`
    select m.user_id, r.escalation, r.question from members m join task_runs r on r.workspace_id = m.workspace_id
    where r.id = ${executionId}::uuid and m.role = any(${roles}::text[])
  `.execute(db);
  const happened = rows[0] && HAPPENED[kind](rows[0]);
  if (!happened) return;
  const { key, at } = happened;
  const notices = rows.map(({ user_id }) => ({
    id: derivedUuid(new Date(at), `${executionId}:${key}:${user_id}`),
    user_id,
  }));
  const detail = JSON.stringify({ execution_id: executionId, ...happened.detail });
  await sql`
    insert into notifications (id, workspace_id, user_id, kind, subject, detail, created_at)
    select n.id, r.workspace_id, n.user_id, ${kind}, ${subjectOf({ kind, id: executionId })},
      ${detail}::jsonb || jsonb_build_object('title', r.title, 'project', p.name), ${at}::timestamptz
    from json_to_recordset(${JSON.stringify(notices)}::json) as n (id uuid, user_id uuid),
      task_runs r join projects p on p.id = r.project_id
    where r.id = ${executionId}::uuid
    on conflict do nothing
  `.execute(db);
}

const HAPPENED: Readonly<Record<RunNoticeKind, (row: Row) => Happened | null>> = {
  'task.escalated': ({ escalation }) => {
    if (!escalation) return null;
    const { reason, step, agent, at } = escalation;
    return { key: 'escalated', at, detail: { reason, step, agent, escalated_at: at } };
  },
  'task.asked': ({ question }) => {
    if (!question) return null;
    const { id = FIRST_QUESTION, text, step, agent, at } = question;
    return { key: `asked:${id}`, at, detail: { question_id: id, question: text, step, agent, asked_at: at } };
  },
};
