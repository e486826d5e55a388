import { sql } from 'kysely';
import { raw, type InferEntity } from '@mikro-orm/core';
import { IDEMPOTENCY_RETENTION_MS } from '../../domain/common/limits.ts';
import type { StoredPlan } from '../../domain/tasks/rerun.ts';
import type { TaskType } from '../../domain/tasks/task-run.ts';
import { isTerminal, type RunErrorCode, type TaskState } from '../../domain/tasks/task-states.ts';
import type { RunSearch } from '../../domain/tasks/run-search.ts';
import { recordAudit } from '../people/audit.ts';
import { Notification } from '../people/entities.ts';
import { lowestIdAt, lowestIdSince } from '../common/ids.ts';
import { runPrepared } from '../common/prepared.ts';
import { queryBuilderOf, type Database, type QueryBuilder } from '../database.ts';
import { TaskRun } from './entities.ts';
import {
  countNewestRuns,
  findIds,
  findNewestRuns,
  findRunsInParts,
  needsPerson,
  searchConditions,
  type Condition,
  type PageConditions,
} from './find-runs.ts';

export type TaskRunRow = InferEntity<typeof TaskRun>;

/** The row of a new run. All other columns have the table's defaults. `callback_secret` is sealed. */
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

/** Filter of a list of runs. `metadata` compares top-level fields by their text. */
export type RunFilter = {
  projectIds: readonly string[];
  states?: readonly TaskState[];
  taskTypes?: readonly TaskType[];
  /** Only runs with one of these codes among their errors. */
  errorCodes?: readonly RunErrorCode[];
  createdAfter?: Date;
  createdBefore?: Date;
  metadata?: Readonly<Record<string, string>>;
  /** Only runs with an open question of an agent, or only runs without one. */
  asking?: boolean;
  /** Only runs that changed since then. */
  changedAfter?: Date;
  /** Only runs that one of these actors submitted. */
  createdBy?: readonly string[];
  /** Only runs that wait for a person. */
  needsPerson?: boolean;
  search?: RunSearch;
  /** The id of the last row of the previous page. */
  cursor?: string;
  limit: number;
};

/** Stores a submission as a run in `initializing`. One statement. */
export async function insertRun(database: Database, run: NewRun): Promise<void> {
  await runPrepared(database, insertionOf(queryBuilderOf(database), run).compile());
}

/** Returns the statement that stores a run in `initializing`. */
export function insertionOf(db: QueryBuilder, run: NewRun) {
  const row = {
    ...run,
    ...(run.plan ? { plan: JSON.stringify(run.plan) } : {}),
    callback_status: run.callback_url === null ? 'none' : 'pending',
    updated_at: run.created_at,
  };
  return db.insertInto('task_runs').values(row as never);
}

/** Returns a run, or null. */
export async function findRun(database: Database, id: string): Promise<TaskRunRow | null> {
  return await database.em.fork().findOne(TaskRun, { id });
}

/** What requests that follow a run compare after each of its events. */
const STATUS = ['state', 'question', 'callback_status', 'callback_retry_id'] as const;
export type RunStatus = Pick<TaskRunRow, (typeof STATUS)[number]>;

/** Returns the status of a run, or null. The whole row can have megabytes. */
export async function findRunStatus(database: Database, id: string): Promise<RunStatus | null> {
  return await database.em.fork().findOne(TaskRun, { id }, { fields: STATUS });
}

/** Columns that a list of runs does not show. The texts can have 200 KB each. */
const UNLISTED = ['description', 'output', 'callback_body', 'callback_secret'] as const;
export type ListedRun = Omit<TaskRunRow, (typeof UNLISTED)[number]>;

/**
 * Returns a page of runs, newest first. `nextCursor` is null on the last page. A page with filters may have fewer rows than
 * the limit before that, since the number of runs that are checked for a page is limited (`MAX_CHECKED_RUNS`).
 */
export async function listRuns(
  database: Database,
  filter: RunFilter,
): Promise<{ rows: ListedRun[]; nextCursor: string | null }> {
  if (filter.projectIds.length === 0) return { rows: [], nextCursor: null };
  const { indexed, checked, isLimited } = await conditionsOf(database, filter);
  const most = filter.limit + 1;
  const reading = { exclude: UNLISTED };
  const { rows, readTo } = isLimited
    ? { rows: await findNewestRuns(database, [...indexed, ...checked], most, reading), readTo: null }
    : await findRunsInParts(database, { indexed, checked }, most, reading);
  const page = rows.slice(0, filter.limit);
  const next = rows.length > filter.limit ? page.at(-1) : readTo;
  return { rows: page, nextCursor: next?.id ?? null };
}

/** Returns the ids of the newest `most` runs that match a filter, newest first. */
export async function listRunIds(
  database: Database,
  filter: Omit<RunFilter, 'cursor' | 'limit'>,
  most: number,
): Promise<string[]> {
  if (filter.projectIds.length === 0) return [];
  const { indexed, checked } = await conditionsOf(database, filter);
  return await findIds(database, [...indexed, ...checked], { limit: most });
}

/** Returns the conditions of a filter. `isLimited`: an index finds a limited number of runs, or exactly those that match. */
async function conditionsOf(
  database: Database,
  filter: Omit<RunFilter, 'limit'>,
): Promise<PageConditions & { isLimited: boolean }> {
  const search = filter.search
    ? await searchConditions(database, filter.search, filter.projectIds)
    : { indexed: [], checked: [] };
  const indexed = [...indexedConditions(filter), ...search.indexed];
  const checked = [...checkedConditions(filter), ...search.checked];
  return { indexed, checked, isLimited: checked.length === 0 || search.indexed.length > 0 };
}

/** Filter of all pages, without a search. */
type CountedFilter = Omit<RunFilter, 'search' | 'cursor' | 'limit'>;

/**
 * Returns the number of runs on all pages. The number of runs that are checked is limited (`MAX_CHECKED_RUNS`), so older ones do
 * not count.
 */
export async function countRuns(database: Database, filter: CountedFilter): Promise<number> {
  if (filter.projectIds.length === 0) return 0;
  return await countNewestRuns(database, {
    indexed: indexedConditions(filter),
    checked: checkedConditions(filter),
  });
}

/**
 * Longest time between the time of a run's id and its creation, in milliseconds. The id of an idempotent submission has the
 * time when its key was claimed. A repeat can create the run while the key is stored. The last hour is for the duration of
 * the request and for differences between the clocks of processes.
 */
const MAX_ID_LEAD_MS = IDEMPOTENCY_RETENTION_MS + 3_600_000;

/** Returns the indexed conditions of a page (see find-runs.ts). */
export function indexedConditions(filter: Omit<RunFilter, 'search' | 'limit'>): Condition[] {
  const { createdAfter, createdBefore, states } = filter;
  const conditions: Condition[] = [{ project_id: { $in: [...filter.projectIds] } }];
  if (filter.cursor) conditions.push({ id: { $lt: filter.cursor } });
  if (createdAfter) conditions.push({ id: { $gte: lowestIdSince(createdAfter, MAX_ID_LEAD_MS) } });
  if (createdBefore) conditions.push({ id: { $lt: lowestIdAt(createdBefore) } });
  if (states && !states.some(isTerminal)) conditions.push({ completed_at: null });
  if (filter.createdBy) conditions.push({ created_by: { $in: [...filter.createdBy] } });
  if (filter.needsPerson) conditions.push(needsPerson());
  for (const [name, value] of Object.entries(filter.metadata ?? {})) {
    const condition = raw(
      '(metadata::jsonb @> ?::jsonb or metadata::jsonb @> ?::jsonb)',
      metadataForms(name, value),
    );
    conditions.push({ [condition]: [] });
  }
  return conditions;
}

/** Returns the conditions of a page that no index finds in the order of the list. */
export function checkedConditions(filter: CountedFilter): Condition[] {
  const conditions: Condition[] = [];
  if (filter.states) conditions.push({ state: { $in: [...filter.states] } });
  if (filter.taskTypes) conditions.push({ task_type: { $in: [...filter.taskTypes] } });
  if (filter.errorCodes) {
    const words = `exists (select from json_array_elements(errors) error where error->>'code' = any(?::text[]))`;
    conditions.push({ [raw(words, [`{${filter.errorCodes.join(',')}}`])]: [] });
  }
  if (filter.createdAfter) conditions.push({ created_at: { $gte: filter.createdAfter } });
  if (filter.createdBefore) conditions.push({ created_at: { $lt: filter.createdBefore } });
  if (filter.changedAfter) {
    const since = filter.changedAfter.toISOString();
    const condition = raw('coalesce(completed_at, updated_at) >= ?::timestamptz', [since]);
    conditions.push({ [condition]: [] });
  }
  if (filter.asking !== undefined) conditions.push({ question: filter.asking ? { $ne: null } : null });
  return conditions;
}

/** The numbers in metadata are shorter, even the smallest ones without an exponent. PostgreSQL rejects very long ones. */
const MAX_NUMBER_LENGTH = 400;

/**
 * Returns the JSON forms of a query parameter, which is text. In the metadata the value may be text, a number, a
 * boolean or null.
 */
function metadataForms(name: string, value: string): [string, string] {
  const asText = JSON.stringify({ [name]: value });
  const isLiteral =
    value.length <= MAX_NUMBER_LENGTH && /^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?)$/.test(value);
  return [asText, isLiteral ? `{${JSON.stringify(name)}:${value}}` : asText];
}

/**
 * Erases an ended run with its events, callback attempts and notices, and writes an audit entry. Returns false if there is no
 * such run, or it has not ended.
 */
export async function eraseRun(
  database: Database,
  { id, workspaceId, actor, now }: { id: string; workspaceId: string; actor: string; now: Date },
): Promise<boolean> {
  return await database.em.fork().transactional(async (em) => {
    const erased = await em.nativeDelete(TaskRun, { id, completed_at: { $ne: null } });
    if (erased === 0) return false;
    await em.nativeDelete(Notification, { workspace_id: workspaceId, subject: `task:${id}` });
    await recordAudit(em, { workspaceId, actor, action: 'task.erased', subject: `task:${id}`, at: now });
    return true;
  });
}

/**
 * Removes the oldest runs that ended before `before`, with their events and callback attempts, at most `limit` at once.
 * Returns their number.
 */
export async function removeOldRuns(database: Database, before: Date, limit: number): Promise<number> {
  const deleted = await sql`
    delete from task_runs where id in (
      select id from task_runs where completed_at < ${before.toISOString()}::timestamptz
      order by completed_at limit ${limit}
    )
  `.execute(queryBuilderOf(database));
  return Number(deleted.numAffectedRows ?? 0n);
}

/** Returns runs submitted before `before` without recorded events, oldest first, at most `limit`. */
export async function listUnstartedRuns(
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

/** Returns the ids of open runs submitted before `before`, after `after` (null: from the first), at most `limit`. */
export async function listOpenRuns(
  database: Database,
  before: Date,
  page: { after: string | null; limit: number },
): Promise<string[]> {
  const behind = page.after === null ? {} : { id: { $gt: page.after } };
  const rows = await database.em
    .fork()
    .find(
      TaskRun,
      { completed_at: null, created_at: { $lt: before }, ...behind },
      { orderBy: { id: 'asc' }, limit: page.limit, fields: ['id'] },
    );
  return rows.map(({ id }) => id);
}

/** Returns whether any run has not ended. */
export async function hasOpenRuns(database: Database): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from task_runs where completed_at is null) as found
  `.execute(queryBuilderOf(database));
  return rows[0]?.found ?? false;
}

/** Returns those of the given ids whose run has not ended. */
export async function findOpenRuns(database: Database, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: string }>`
    select id from task_runs where id = any(${ids}::uuid[]) and completed_at is null
  `.execute(queryBuilderOf(database));
  return rows.map(({ id }) => id);
}

/** Returns those of the given ids whose run ended before `before`. */
export async function findEndedRuns(
  database: Database,
  ids: readonly string[],
  before: Date,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: string }>`
    select id from task_runs where id = any(${ids}::uuid[]) and completed_at < ${before.toISOString()}::timestamptz
  `.execute(queryBuilderOf(database));
  return rows.map(({ id }) => id);
}

/** Returns those of the given ids whose run has not ended and does not show a pause made in the Web UI. */
export async function findUnrecordedPauses(database: Database, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: string }>`
    select id from task_runs where id = any(${ids}::uuid[]) and completed_at is null
      and (engine_paused_at is null or state <> 'paused')
  `.execute(queryBuilderOf(database));
  return rows.map(({ id }) => id);
}

/** The columns that the reconciler needs of a run whose row shows a pause made in the Web UI. */
export type EnginePausedRun = Pick<TaskRunRow, 'id' | 'engine_paused_at' | 'paused_by'>;

/** Returns the runs whose row shows a pause made in the Web UI, by whether it was signalled to their workflow. */
export async function listEnginePausedRuns(
  database: Database,
  { signalled }: { signalled: boolean },
): Promise<EnginePausedRun[]> {
  return await database.em
    .fork()
    .find(
      TaskRun,
      { completed_at: null, engine_paused_at: { $ne: null }, engine_pause_signalled: signalled },
      { fields: ['id', 'engine_paused_at', 'paused_by'] },
    );
}

/** Records that a run that is paused already was also paused in the Web UI at `pausedAt`. The feed shows one pause. */
export async function recordEnginePause(database: Database, id: string, pausedAt: Date): Promise<void> {
  await queryBuilderOf(database)
    .updateTable('task_runs')
    .set({
      engine_paused_at: sql`${pausedAt.toISOString()}::timestamptz`,
      engine_pause_signalled: false,
    } as never)
    .where('id', '=', id)
    .where('state', '=', 'paused')
    .execute();
}

/** Records that the pause that began at `pausedAt` was signalled to the workflow. */
export async function markEnginePauseSignalled(
  database: Database,
  id: string,
  pausedAt: Date,
): Promise<void> {
  await queryBuilderOf(database)
    .updateTable('task_runs')
    .set({ engine_pause_signalled: true } as never)
    .where('id', '=', id)
    .where(sql<boolean>`engine_paused_at = ${pausedAt.toISOString()}::timestamptz`)
    .execute();
}

/** Returns the ids of runs that ended before `before` and whose callback is pending, oldest first. */
export async function listRunsAwaitingCallback(
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
