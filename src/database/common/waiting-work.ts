import { sql } from 'kysely';
import { queryBuilderOf, type Database } from '../database.ts';
import { runPrepared } from './prepared.ts';

/** Kinds of work that are accepted in PostgreSQL and then started in Temporal. */
export type WaitingKind = 'tasks' | 'events';

/** Accepted work that is not known to have a workflow. `oldestSeconds`: its age, up to two days; 0 if there is none. */
export type WaitingWork = Record<WaitingKind, { count: number; oldestSeconds: number }>;

/** Older work is stuck for another reason than an outage of Temporal. */
const RECENT = sql.raw(`created_at > now() - interval '2 days'`);

/** Counts the accepted work that is not known to have a workflow. Ages are by the database's clock. */
export async function readWaitingWork(database: Database): Promise<WaitingWork> {
  const statement = sql<{ kind: WaitingKind; count: number; oldest: number }>`
    select 'tasks' as kind, count(*)::float8 as count,
      coalesce(extract(epoch from now() - min(created_at) filter (where ${RECENT})), 0)::float8 as oldest
    from task_runs where completed_at is null and state = 'initializing' and last_seq = 0
    union all
    select 'events', coalesce(sum(events), 0)::float8,
      coalesce(extract(epoch from now() - min(created_at) filter (where ${RECENT})), 0)::float8
    from event_groups where done_at is null and started_at is null and handed_at is null
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  const of = (kind: WaitingKind) => {
    const row = rows.find((one) => one.kind === kind);
    return { count: row?.count ?? 0, oldestSeconds: Math.max(0, row?.oldest ?? 0) };
  };
  return { tasks: of('tasks'), events: of('events') };
}
