import { raw, type FilterQuery, type InferEntity } from '@mikro-orm/core';
import { sql } from 'kysely';
import { MAX_CHECKED_RUNS, MAX_INDEXED_RUNS } from '../../domain/common/limits.ts';
import { textQueryOf, type RunSearch } from '../../domain/tasks/run-search.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { TaskRun } from './entities.ts';

type TaskRunRow = InferEntity<typeof TaskRun>;
/** A condition for runs. */
export type Condition = FilterQuery<TaskRunRow>;

/**
 * The conditions for the runs of a page. PostgreSQL finds the runs that meet the `indexed` ones with an index, in most cases in
 * the order of the list. The `checked` ones are checked for each of these runs.
 */
export type PageConditions = { indexed: Condition[]; checked: Condition[] };

/** The column that orders a list, descending; then the id. */
export type Order = 'id' | 'completed_at' | 'updated_at';

/** How a list is read: its order, the ids by default, and columns that are missing in the rows. */
type Reading = { order?: Order; exclude?: readonly Extract<keyof TaskRunRow, string>[] };

/** The position of a run in a list: its id, and its time if the list is ordered by one. */
export type Position = { id: string; at?: Date };

/**
 * Runs that are read by their ids first. Most pages end among them. If all runs that meet the indexed conditions are among them,
 * PostgreSQL cannot choose a plan that reads others. It estimates conditions as independent: if another project has many open
 * runs, it expects many in this one too, and reads all runs in the order of the list.
 */
const FIRST_PART = 500;

/**
 * Returns the first `most` runs that meet the conditions, newest first. After {@link MAX_CHECKED_RUNS} runs that meet the indexed
 * conditions, it returns those found so far. `readTo` is then the position of the last run it read; otherwise null.
 */
export async function findRunsInParts(
  database: Database,
  { indexed, checked }: PageConditions,
  most: number,
  reading: Reading = {},
): Promise<{ rows: TaskRunRow[]; readTo: Position | null }> {
  const { order = 'id' } = reading;
  const first = await findPositions(database, indexed, { limit: FIRST_PART }, order);
  const ids = first.map(({ id }) => id);
  const rows = await findNewestRuns(database, [among(ids), ...checked], most, reading);
  const last = first[FIRST_PART - 1];
  if (last === undefined || rows.length === most) return { rows, readTo: null };
  const rest = [...indexed, after(last, order)];
  const readTo = await findEndOfPart(database, rest, MAX_CHECKED_RUNS - FIRST_PART, order);
  const conditions = [...rest, ...checked, ...upTo(readTo, order)];
  rows.push(...(await findNewestRuns(database, conditions, most - rows.length, reading)));
  return { rows, readTo };
}

/** Returns the first `most` runs that meet the conditions, newest first. */
export async function findNewestRuns(
  database: Database,
  conditions: Condition[],
  most: number,
  { order = 'id', exclude = [] }: Reading = {},
): Promise<TaskRunRow[]> {
  const options = { orderBy: orderBy(order), limit: most, exclude: [...exclude] };
  const rows = await database.em.fork().find(TaskRun, { $and: conditions }, options);
  return rows as unknown as TaskRunRow[];
}

/** Returns the condition for the runs after a position in a list. */
export function after(position: Position, order: Order = 'id'): Condition {
  return compared('<', position, order);
}

function compared(operator: '<' | '>=', { id, at }: Position, order: Order): Condition {
  return at === undefined
    ? condition(`id ${operator} ?::uuid`, [id])
    : condition(`(${order}, id) ${operator} (?::timestamptz, ?::uuid)`, [at.toISOString(), id]);
}

function orderBy(order: Order) {
  return order === 'id' ? ({ id: 'desc' } as const) : ({ [order]: 'desc', id: 'desc' } as const);
}

/**
 * Returns the number of runs that meet the conditions, among the newest {@link MAX_CHECKED_RUNS} that meet the indexed ones.
 */
export async function countNewestRuns(
  database: Database,
  { indexed, checked }: PageConditions,
): Promise<number> {
  const em = database.em.fork();
  const ids = await findIds(database, indexed, { limit: FIRST_PART });
  if (ids.length < FIRST_PART) return await em.count(TaskRun, { $and: [among(ids), ...checked] });
  const end = await findEndOfPart(database, indexed, MAX_CHECKED_RUNS);
  return await em.count(TaskRun, { $and: [...indexed, ...checked, ...upTo(end)] });
}

function among(ids: readonly string[]): Condition {
  return condition('id = any(?::uuid[])', [`{${ids.join(',')}}`]);
}

/** Returns the condition for runs up to the end of a part. null: there is no other part. */
function upTo(end: Position | null, order: Order = 'id'): Condition[] {
  return end === null ? [] : [compared('>=', end, order)];
}

/** Returns the position of the last of the newest `size` runs that meet the conditions; null if there are not as many. */
async function findEndOfPart(
  database: Database,
  indexed: Condition[],
  size: number,
  order: Order = 'id',
): Promise<Position | null> {
  const [last] = await findPositions(database, indexed, { limit: 1, offset: size - 1 }, order);
  return last ?? null;
}

/** Returns ids of runs that meet the conditions, newest first. */
export async function findIds(
  database: Database,
  conditions: Condition[],
  page: { limit: number; offset?: number },
): Promise<string[]> {
  return (await findPositions(database, conditions, page, 'id')).map(({ id }) => id);
}

async function findPositions(
  database: Database,
  conditions: Condition[],
  page: { limit: number; offset?: number },
  order: Order,
): Promise<Position[]> {
  const rows = await database.em
    .fork()
    .find(TaskRun, { $and: conditions }, { ...page, orderBy: orderBy(order), fields: ['id', order] });
  return rows.map((row) => positionOf(row, order));
}

/** Returns the position of a run in a list. */
function positionOf(row: Pick<TaskRunRow, 'id' | Order>, order: Order): Position {
  const at = order === 'id' ? null : row[order];
  return { id: row.id, ...(at instanceof Date ? { at } : {}) };
}

/**
 * Returns the conditions of a search. Up to {@link MAX_INDEXED_RUNS} matches are found by the index of words. If there are
 * more, they are so frequent that reading the newest runs finds them.
 */
export async function searchConditions(
  database: Database,
  search: RunSearch,
  projectIds: readonly string[],
): Promise<PageConditions> {
  const matches = await findMatches(database, search, projectIds);
  if (matches.length <= MAX_INDEXED_RUNS) {
    return { indexed: [among(matches)], checked: [] };
  }
  const words = `run_words(title, metadata) @@ to_tsquery('simple', ?)`;
  const { first, last } = search.ids ?? {};
  const checked = search.ids
    ? condition(`(${words} or id between ?::uuid and ?::uuid)`, [textQueryOf(search), first, last])
    : condition(words, [textQueryOf(search)]);
  return { indexed: [], checked: [checked] };
}

/** Returns the ids of matching runs of all pages, in no order; one more than {@link MAX_INDEXED_RUNS} if there are more. */
async function findMatches(
  database: Database,
  search: RunSearch,
  projectIds: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with by_words as materialized (
      select id from task_runs
      where run_words(title, metadata) @@ to_tsquery('simple', ${textQueryOf(search)})
        and project_id = any(${projectIds}::uuid[])
    ), by_id as (
      select id from task_runs
      where id between ${search.ids?.first ?? null}::uuid and ${search.ids?.last ?? null}::uuid
        and project_id = any(${projectIds}::uuid[])
    )
    select id from by_id union all select id from by_words limit ${MAX_INDEXED_RUNS + 1}
  `.execute(queryBuilderOf(database));
  return rows.map(({ id }) => id);
}

/**
 * Returns the condition for runs that wait for a person: an agent has asked a question, or the run was escalated and has
 * not been rerun.
 */
export function needsPerson(): Condition {
  // Begins with the condition of the index.
  const words = (run: string) => `(${run}.question is not null or ${run}.escalation is not null) and (
    (${run}.question is not null and ${run}.state = 'paused')
    or (${run}.state = 'escalated' and not exists (select from task_runs later where later.rerun_of = ${run}.id)))`;
  return { [raw(words)]: [] };
}

function condition(words: string, values: readonly unknown[]): Condition {
  return { [raw(words, values)]: [] };
}
