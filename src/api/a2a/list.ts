import { Task, TaskState, type ListTasksRequest, type ListTasksResponse } from '@a2a-js/sdk';
import { CONTEXT_FIELD } from '../../agents/a2a-updates.ts';
import { listProjectIds } from '../../database/people/projects.ts';
import { changeOf, listChangedRuns, type ChangedRunFilter } from '../../database/tasks/changed-runs.ts';
import { viewOfRow } from '../../database/tasks/run-views.ts';
import { countRuns, type TaskRunRow } from '../../database/tasks/task-runs.ts';
import { DEFAULT_PAGE, MAX_A2A_PAGE_BYTES } from '../../domain/common/limits.ts';
import { comparableTime } from '../../domain/common/schema-parts.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { artifactsOf } from './artifacts.ts';
import { runsIn } from './mapping.ts';
import { pageTokenOf, positionOfToken } from './page-token.ts';
import { readTask } from './read.ts';

/** Tasks whose history and documents are read at the same time. */
const READ_AT_ONCE = 10;

/**
 * Returns a page of the tasks that the caller can access, the last changed first (A2A 1.0, section 3.1.4). A context is one
 * that a client chose: a task without one is alone in its context.
 */
export async function listTasks(
  deps: Dependencies,
  caller: Caller,
  request: ListTasksRequest,
): Promise<ListTasksResponse> {
  const filter = await filterOf(deps, caller, request);
  const pageSize = request.pageSize ?? DEFAULT_PAGE;
  const after = positionOfToken(request.pageToken);
  const [{ rows, next }, totalSize] = await Promise.all([
    listChangedRuns(deps.database, { ...filter, limit: pageSize, ...(after ? { after } : {}) }),
    countRuns(deps.database, filter),
  ]);
  const tasks = await tasksOf(deps, rows, request);
  const lastRow = rows[tasks.length - 1];
  const isCut = tasks.length < rows.length && lastRow !== undefined;
  return { tasks, nextPageToken: pageTokenOf(isCut ? changeOf(lastRow) : next), pageSize, totalSize };
}

/** Returns the tasks of the first runs: at least one, and no more after {@link MAX_A2A_PAGE_BYTES}. */
async function tasksOf(
  deps: Dependencies,
  rows: readonly TaskRunRow[],
  request: ListTasksRequest,
): Promise<Task[]> {
  const tasks: Task[] = [];
  let bytes = 0;
  for (let first = 0; first < rows.length; first += READ_AT_ONCE) {
    const read = rows.slice(first, first + READ_AT_ONCE).map((row) => listedTask(deps, row, request));
    for (const task of await Promise.all(read)) {
      tasks.push(task);
      bytes += Buffer.byteLength(JSON.stringify(Task.toJSON(task)));
      if (bytes > MAX_A2A_PAGE_BYTES) return tasks;
    }
  }
  return tasks;
}

async function listedTask(
  deps: Dependencies,
  row: TaskRunRow,
  { includeArtifacts, historyLength = 0 }: ListTasksRequest,
): Promise<Task> {
  const artifacts = includeArtifacts ? await artifactsOf(deps, row) : [];
  const task = await readTask(deps, { row, view: viewOfRow(row) }, { historyLength, artifacts });
  return includeArtifacts ? task : { ...task, artifacts: [] };
}

async function filterOf(
  { database }: Dependencies,
  caller: Caller,
  { contextId, status, statusTimestampAfter }: ListTasksRequest,
): Promise<Omit<ChangedRunFilter, 'after' | 'limit'>> {
  const projectIds =
    caller.kind === 'person' ? await listProjectIds(database, caller.workspaceId) : [caller.projectId];
  return {
    projectIds,
    ...(status === TaskState.TASK_STATE_UNSPECIFIED ? {} : runsIn(status)),
    ...(contextId === '' ? {} : { metadata: { [CONTEXT_FIELD]: contextId } }),
    ...(statusTimestampAfter ? { changedAfter: comparableTime(statusTimestampAfter) } : {}),
  };
}
