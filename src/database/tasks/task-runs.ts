import { sql } from 'kysely';
import type { InferEntity } from '@mikro-orm/core';
import type { StoredPlan } from '../../domain/tasks/rerun.ts';
import { progressOf, type RunView, type TaskType } from '../../domain/tasks/task-run.ts';
import { isTerminal, type TaskState } from '../../domain/tasks/task-states.ts';
import { recordAudit } from '../people/audit.ts';
import { runPrepared } from '../common/prepared.ts';
import { statements, type Database } from '../database.ts';
import { TaskRun } from './entities.ts';

export type TaskRunRow = InferEntity<typeof TaskRun>;

/** What a submission stores; everything else begins with the table's defaults. `callback_secret` is sealed. */
export type NewRun = Pick<
  TaskRunRow,
  | 'id'
  | 'workspace_id'
  | 'project_id'
  | 'created_by'
  | 'title'
  | 'description'
  | 'task_type'
  | 'metadata'
  | 'callback_url'
  | 'callback_secret'
  | 'created_at'
> &
  Partial<Pick<TaskRunRow, 'rerun_of' | 'rerun_from'>> & { plan?: StoredPlan };

/** Which runs a list holds. `metadata` compares top-level members by their text. */
export type RunFilter = {
  projectIds: readonly string[];
  states?: readonly TaskState[];
  taskTypes?: readonly TaskType[];
  createdAfter?: Date;
  createdBefore?: Date;
  metadata?: Readonly<Record<string, string>>;
  /** The id of the last row of the page before. */
  cursor?: string;
  limit: number;
};

/** Stores a submission as a run in `initializing`. One statement. */
export async function insertRun(database: Database, run: NewRun): Promise<void> {
  const row = {
    ...run,
    metadata: JSON.stringify(run.metadata),
    ...(run.plan ? { plan: JSON.stringify(run.plan) } : {}),
    callback_status: run.callback_url === null ? 'none' : 'pending',
    updated_at: run.created_at,
  };
  await runPrepared(
    database,
    statements(database)
      .insertInto('task_runs')
      .values(row as never)
      .compile(),
  );
}

/** Takes back a submission whose workflow did not start. False where the run has recorded something: it stays. */
export async function removeUnstartedRun(database: Database, id: string): Promise<boolean> {
  const deleted = await statements(database)
    .deleteFrom('task_runs')
    .where('id', '=', id)
    .where('state', '=', 'initializing')
    .where('last_seq', '=', 0)
    .executeTakeFirst();
  return deleted.numDeletedRows > 0n;
}

/** One run, or null. */
export async function findRun(database: Database, id: string): Promise<TaskRunRow | null> {
  return await database.em.fork().findOne(TaskRun, { id });
}

/** A page of runs, newest first. `nextCursor` is null on the last page. */
export async function listRuns(
  database: Database,
  filter: RunFilter,
): Promise<{ rows: TaskRunRow[]; nextCursor: string | null }> {
  if (filter.projectIds.length === 0) return { rows: [], nextCursor: null };
  const em = database.em.fork();
  const query = em.createQueryBuilder(TaskRun).where({ project_id: { $in: [...filter.projectIds] } });
  if (filter.states) query.andWhere({ state: { $in: [...filter.states] } });
  if (filter.taskTypes) query.andWhere({ task_type: { $in: [...filter.taskTypes] } });
  if (filter.createdAfter) query.andWhere({ created_at: { $gte: filter.createdAfter } });
  if (filter.createdBefore) query.andWhere({ created_at: { $lt: filter.createdBefore } });
  if (filter.cursor) query.andWhere({ id: { $lt: filter.cursor } });
  for (const [name, value] of Object.entries(filter.metadata ?? {})) {
    query.andWhere(
      '(metadata::jsonb @> ?::jsonb or metadata::jsonb @> ?::jsonb)',
      metadataForms(name, value),
    );
  }
  const rows = await query
    .orderBy({ id: 'desc' })
    .limit(filter.limit + 1)
    .getResult();
  const page = rows.slice(0, filter.limit);
  return { rows: page, nextCursor: rows.length > filter.limit ? (page.at(-1)?.id ?? null) : null };
}

/** A value in an address is text; in the metadata it may stand as text or as a number, a boolean or null. */
function metadataForms(name: string, value: string): [string, string] {
  const asText = JSON.stringify({ [name]: value });
  const isLiteral = /^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?)$/.test(value);
  return [asText, isLiteral ? `{${JSON.stringify(name)}:${value}}` : asText];
}

/**
 * Erases an ended run with its events and callback attempts, and notes who did; false where there is none, or it has not
 * ended.
 */
export async function eraseRun(
  database: Database,
  { id, workspaceId, actor, now }: { id: string; workspaceId: string; actor: string; now: Date },
): Promise<boolean> {
  return await database.em.fork().transactional(async (em) => {
    const erased = await em.nativeDelete(TaskRun, { id, completed_at: { $ne: null } });
    if (erased === 0) return false;
    await recordAudit(em, { workspaceId, actor, action: 'task.erased', subject: `task:${id}`, at: now });
    return true;
  });
}

/**
 * Removes the oldest runs that ended before `before`, with their events and callback attempts, at most `limit` at
 * once. Answers how many.
 */
export async function removeOldRuns(database: Database, before: Date, limit: number): Promise<number> {
  const deleted = await sql`
    delete from task_runs where id in (
      select id from task_runs where completed_at < ${before.toISOString()}::timestamptz
      order by completed_at limit ${limit}
    )
  `.execute(statements(database));
  return Number(deleted.numAffectedRows ?? 0n);
}

/** The stored projection of a run, in the same members as the workflow's own answer. */
export function viewOfRow(row: TaskRunRow): RunView {
  return {
    state: row.state,
    paused_from: row.paused_from ?? null,
    progress: progressOf(row.steps),
    steps: row.steps,
    started_at: row.started_at?.toISOString() ?? null,
    paused_at: row.paused_at?.toISOString() ?? null,
    paused_by: row.paused_by ?? null,
    paused_ms: row.paused_ms,
    completed_at: row.completed_at?.toISOString() ?? null,
    duration_ms: row.duration_ms ?? null,
    output: row.output ?? null,
    errors: row.errors,
    escalation: row.escalation ?? null,
    question: row.question ?? null,
    last_seq: row.view_seq,
  };
}

/** A run and how it looks now. */
export type RunWithView = { row: TaskRunRow; view: RunView };

/**
 * How a run looks: what `ask` gets from the workflow itself while it goes on, the stored projection when it has ended,
 * is paused in the Temporal Web UI or does not answer (null). Never an older one than is stored.
 */
export async function readView(
  database: Database,
  row: TaskRunRow,
  ask: (id: string) => Promise<RunView | null>,
): Promise<RunWithView> {
  const stored = viewOfRow(row);
  if (isTerminal(row.state) || row.engine_paused_at) return { row, view: stored };
  const view = await ask(row.id);
  if (view) return { row, view: view.last_seq >= stored.last_seq ? view : stored };
  // The query may have failed because the run has just ended: then the row knows better by now.
  const later = (await findRun(database, row.id)) ?? row;
  return { row: later, view: viewOfRow(later) };
}

/** Runs submitted before `before` that have not recorded anything, oldest first, at most `limit`. */
export async function runsNeverStarted(
  database: Database,
  before: Date,
  limit: number,
): Promise<TaskRunRow[]> {
  return await database.em
    .fork()
    .find(
      TaskRun,
      { completed_at: null, created_at: { $lt: before }, state: 'initializing', last_seq: 0 },
      { orderBy: { created_at: 'asc' }, limit },
    );
}

/** Runs submitted before `before` that have not ended, by id behind `after` (null: from the first), at most `limit`. */
export async function runsUnderWay(
  database: Database,
  before: Date,
  page: { after: string | null; limit: number },
): Promise<TaskRunRow[]> {
  const behind = page.after === null ? {} : { id: { $gt: page.after } };
  return await database.em
    .fork()
    .find(
      TaskRun,
      { completed_at: null, created_at: { $lt: before }, ...behind },
      { orderBy: { id: 'asc' }, limit: page.limit },
    );
}

/** Runs with a Web UI pause that their workflow has not been told of yet. */
export async function runsWithUnsignalledPause(database: Database): Promise<TaskRunRow[]> {
  return await database.em
    .fork()
    .find(TaskRun, { completed_at: null, engine_paused_at: { $ne: null }, engine_pause_signalled: false });
}

/** Notes that a pause made in the Web UI holds (`pausedAt`), in the row alone; the feed is written beside it. */
export async function recordEnginePause(database: Database, id: string, pausedAt: Date): Promise<void> {
  await statements(database)
    .updateTable('task_runs')
    .set({
      engine_paused_at: sql`${pausedAt.toISOString()}::timestamptz`,
      engine_pause_signalled: false,
    } as never)
    .where('id', '=', id)
    .where('completed_at', 'is', null)
    .execute();
}

/** Notes that the workflow has been told of the pause that began at `pausedAt`. */
export async function markEnginePauseSignalled(
  database: Database,
  id: string,
  pausedAt: Date,
): Promise<void> {
  await statements(database)
    .updateTable('task_runs')
    .set({ engine_pause_signalled: true } as never)
    .where('id', '=', id)
    .where(sql<boolean>`engine_paused_at = ${pausedAt.toISOString()}::timestamptz`)
    .execute();
}

/** Ids of runs that ended before `before` and whose callback is still pending, oldest first. */
export async function runsAwaitingCallback(
  database: Database,
  before: Date,
  limit: number,
): Promise<string[]> {
  const rows = await database.em
    .fork()
    .find(
      TaskRun,
      { callback_status: 'pending', completed_at: { $lt: before } },
      { orderBy: { completed_at: 'asc' }, limit, fields: ['id'] },
    );
  return rows.map((row) => row.id);
}
