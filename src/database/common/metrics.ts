import { sql } from 'kysely';
import { ACTIVE_STATES } from '../../domain/tasks/task-states.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { runPrepared } from './prepared.ts';
import { readWaitingWork } from './waiting-work.ts';

/** States of runs that have not ended. */
const OPEN_STATES = [...ACTIVE_STATES, 'paused'] as const;
const WEBHOOK_STATUSES = ['active', 'failing', 'inactive', 'disabled'] as const;
const WAITING_STATUSES = ['pending', 'retrying', 'held'] as const;
/** Limit of the count per webhook. A metric must not become more expensive as the backlog grows. */
export const MAX_COUNTED = 10_000;

type Row = {
  what: 'task' | 'webhook' | 'delivery' | 'callback' | 'group' | 'oldest';
  of: string | null;
  count: number;
};

/**
 * Counts everything that waits or is in flight, in two statements over indexes of unfinished rows, so that its cost does
 * not grow with the stored data. Every state is included, with 0 if there is none.
 */
export async function readStoredCounts(database: Database) {
  const statement = sql<Row>`
    select 'task' as what, state as of, count(*)::float8 as count
    from task_runs where completed_at is null group by state
    union all
    select 'callback', null, (
      (select count(*) from task_runs where callback_status = 'pending' and completed_at is not null)
      + (select count(*) from task_runs where callback_retry_id is not null)
    )::float8
    union all
    select 'webhook', case when disabled_at is not null then 'disabled' when not active then 'inactive'
      when consecutive_failures > 0 then 'failing' else 'active' end, count(*)::float8
    from webhooks where deleted_at is null group by 2
    union all
    select 'delivery', waiting.status, sum(found.count)::float8
    from webhooks w cross join unnest(${[...WAITING_STATUSES]}::text[]) as waiting (status)
    cross join lateral (
      select count(*) from (
        select from deliveries d
        where d.webhook_id = w.id and d.status = waiting.status and d.status <> 'succeeded'
        limit ${MAX_COUNTED}::integer
      ) as counted
    ) as found
    where w.deleted_at is null group by 2
    union all
    select 'group', null, count(*)::float8 from event_groups where done_at is null
    union all
    select 'oldest', null, coalesce(extract(epoch from now() - min(created_at)), 0)::float8
    from event_groups where done_at is null
  `.compile(queryBuilderOf(database));
  const [{ rows }, waitingForStart] = await Promise.all([
    runPrepared(database, statement),
    readWaitingWork(database),
  ]);
  const single = (what: Row['what']) => rows.find((row) => row.what === what)?.count ?? 0;
  return {
    tasks: counted(rows, 'task', OPEN_STATES),
    webhooks: counted(rows, 'webhook', WEBHOOK_STATUSES),
    deliveriesWaiting: counted(rows, 'delivery', WAITING_STATUSES),
    callbacksWaiting: single('callback'),
    groupsWaiting: single('group'),
    groupsOldestSeconds: Math.max(0, single('oldest')),
    waitingForStart,
  };
}

function counted(rows: readonly Row[], what: Row['what'], names: readonly string[]): Record<string, number> {
  const found = rows.filter((row) => row.what === what);
  return Object.fromEntries(names.map((name) => [name, found.find(({ of }) => of === name)?.count ?? 0]));
}

/** Returns the connections of this process's pool, and the number of callers that wait for one. */
export async function readPoolCounts(
  database: Database,
): Promise<{ busy: number; idle: number; waiting: number }> {
  const pool = await database.em.getConnection().getNativeClient();
  const { totalCount, idleCount, waitingCount } = pool;
  return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
}
