import { isTerminal } from '../../domain/tasks/task-states.ts';
import type { Database } from '../database.ts';
import {
  after,
  findNewestRuns,
  findRunsInParts,
  type Condition,
  type PageConditions,
  type Position,
} from './find-runs.ts';
import { checkedConditions, indexedConditions, type RunFilter, type TaskRunRow } from './task-runs.ts';

/** Filter of a list of runs in the order of their last change. `states`: all open, or all ended. */
export type ChangedRunFilter = Pick<
  RunFilter,
  'projectIds' | 'states' | 'asking' | 'metadata' | 'changedAfter' | 'limit'
> & {
  /** The position of the last run of the previous page. */
  after?: Position;
};

/**
 * Returns a page of runs, the last changed first. `next` is the position after which the next page begins, null on the last page.
 * A page of ended states may have fewer rows than the limit before that, see {@link findRunsInParts}.
 *
 * An index of `updated_at` would have to be written with each event. So all open runs are read and sorted. Ended runs do not
 * change, and are read in the order of an index.
 */
export async function listChangedRuns(
  database: Database,
  filter: ChangedRunFilter,
): Promise<{ rows: TaskRunRow[]; next: Position | null }> {
  const { projectIds, states, limit } = filter;
  if (projectIds.length === 0 || states?.length === 0) return { rows: [], next: null };
  const most = limit + 1;
  // Open runs first: a run that ends between the two statements is found twice, instead of never.
  const open = states?.every(isTerminal)
    ? []
    : await findNewestRuns(database, openRunsOf(filter), most, { order: 'updated_at' });
  const { rows: ended, readTo } = states?.some((state) => !isTerminal(state))
    ? { rows: [], readTo: null }
    : await findEnded(database, endedRunsOf(filter), most);
  const endedIds = new Set(ended.map(({ id }) => id));
  const rows = [...open.filter(({ id }) => !endedIds.has(id)), ...ended].toSorted(byChange);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const isLast = rows.length <= limit && open.length <= limit;
  return { rows: page, next: isLast || !last ? readTo : changeOf(last) };
}

/** Returns the position of a run in the order of the last changes. */
export function changeOf({ id, completed_at, updated_at }: TaskRunRow): Required<Position> {
  return { id, at: completed_at ?? updated_at };
}

async function findEnded(
  database: Database,
  conditions: PageConditions,
  most: number,
): Promise<{ rows: TaskRunRow[]; readTo: Position | null }> {
  if (conditions.checked.length > 0)
    return await findRunsInParts(database, conditions, most, { order: 'completed_at' });
  return {
    rows: await findNewestRuns(database, conditions.indexed, most, { order: 'completed_at' }),
    readTo: null,
  };
}

function openRunsOf(filter: ChangedRunFilter): Condition[] {
  const { indexed, checked } = conditionsOf(filter);
  const { changedAfter, after: position } = filter;
  indexed.push({ completed_at: null });
  if (changedAfter) indexed.push({ updated_at: { $gte: changedAfter } });
  if (position) indexed.push(after(position, 'updated_at'));
  return [...indexed, ...checked];
}

function endedRunsOf(filter: ChangedRunFilter): PageConditions {
  const { indexed, checked } = conditionsOf(filter);
  const { changedAfter, after: position } = filter;
  indexed.push({ completed_at: changedAfter ? { $gte: changedAfter } : { $ne: null } });
  if (position) indexed.push(after(position, 'completed_at'));
  return { indexed, checked };
}

function conditionsOf({ projectIds, states, asking, metadata }: ChangedRunFilter): PageConditions {
  return {
    indexed: indexedConditions({ projectIds, ...(metadata ? { metadata } : {}) }),
    checked: checkedConditions({
      projectIds,
      ...(states ? { states } : {}),
      ...(asking === undefined ? {} : { asking }),
    }),
  };
}

/** Compares two runs: the last changed first, then the higher id. */
function byChange(one: TaskRunRow, other: TaskRunRow): number {
  const [a, b] = [changeOf(one), changeOf(other)];
  return b.at.getTime() - a.at.getTime() || (a.id < b.id ? 1 : -1);
}
