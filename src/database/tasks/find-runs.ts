import { raw, type FilterQuery, type InferEntity } from '@mikro-orm/core';
import { sql } from 'kysely';
import { MAX_INDEXED_RUNS, MAX_RUNS_PER_SEARCH } from '../../domain/common/limits.ts';
import { textQueryOf, type RunSearch } from '../../domain/tasks/run-search.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import type { TaskRun } from './entities.ts';

type Condition = FilterQuery<InferEntity<typeof TaskRun>>;

/** What a page of a search returns, and where the next page must continue even if this one has free places. */
export type SearchConditions = { conditions: Condition[]; searchedTo: string | null };

/**
 * Returns the conditions of a page of a search. The work for a page is bounded: up to {@link MAX_INDEXED_RUNS} matches are
 * found by the index of words. If there are more, they are so frequent that reading the newest runs finds them, and the
 * page ends after {@link MAX_RUNS_PER_SEARCH} runs.
 */
export async function searchConditions(
  database: Database,
  search: RunSearch,
  page: { projectIds: readonly string[]; cursor?: string },
): Promise<SearchConditions> {
  const ids = await findMatches(database, search, page.projectIds);
  if (ids.length <= MAX_INDEXED_RUNS) {
    return { conditions: [condition('id = any(?::uuid[])', [`{${ids.join(',')}}`])], searchedTo: null };
  }
  const searchedTo = await findEndOfPart(database, page);
  const words = `run_words(title, metadata) @@ to_tsquery('simple', ?)`;
  const { first, last } = search.ids ?? {};
  const matches = search.ids
    ? condition(`(${words} or id between ?::uuid and ?::uuid)`, [textQueryOf(search), first, last])
    : condition(words, [textQueryOf(search)]);
  return {
    conditions: searchedTo === null ? [matches] : [matches, { id: { $gte: searchedTo } }],
    searchedTo,
  };
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

/** Returns the id of the last run that a page checks; null if there are not as many. */
async function findEndOfPart(
  database: Database,
  { projectIds, cursor }: { projectIds: readonly string[]; cursor?: string },
): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    select id from task_runs
    where project_id = any(${projectIds}::uuid[]) and (${cursor ?? null}::uuid is null or id < ${cursor ?? null}::uuid)
    order by id desc limit 1 offset ${MAX_RUNS_PER_SEARCH - 1}
  `.execute(queryBuilderOf(database));
  return rows[0]?.id ?? null;
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
