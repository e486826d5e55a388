import { isTerminal } from '../../domain/tasks/task-states.ts';
import { readActorLabels } from '../../database/people/actors.ts';
import { readRunUsage } from '../../database/agents/agent-calls.ts';
import { listBriefCallbackAttempts } from '../../database/tasks/callbacks.ts';
import { listReruns } from '../../database/tasks/reruns.ts';
import { readView, type RunWithView } from '../../database/tasks/run-views.ts';
import { findRun, type TaskRunRow } from '../../database/tasks/task-runs.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { notFound } from '../http/problem.ts';
import { presentDetail } from './presenter.ts';

/**
 * Returns a run that the caller can access.
 * @throws Problem `not_found`, the same for an unknown run and for a run of another project
 */
export async function openRun(deps: Dependencies, caller: Caller, id: string): Promise<TaskRunRow> {
  const row = await findRun(deps.database, id);
  const open =
    caller.kind === 'person'
      ? row?.workspace_id === caller.workspaceId
      : row?.project_id === caller.projectId;
  if (!row || !open) throw notFound('task');
  return row;
}

/** Returns the current view of a run. */
export async function readRun(deps: Dependencies, row: TaskRunRow): Promise<RunWithView> {
  return await readView(deps.database, row, (id) => deps.control.view(id));
}

/** Returns the body of the detail response. */
export async function detailOf(deps: Dependencies, { row, view }: RunWithView) {
  const hasCallbackAttempts = row.callback_url !== null && isTerminal(view.state);
  // Only an ended run can have reruns.
  const [usage, attempts, reruns, labelOf] = await Promise.all([
    readRunUsage(deps.database, row.id),
    hasCallbackAttempts ? listBriefCallbackAttempts(deps.database, row.id) : [],
    isTerminal(view.state) ? listReruns(deps.database, row.id) : [],
    readActorLabels(deps.database, [row.created_by]),
  ]);
  return presentDetail(row, view, { usage, attempts, reruns }, { baseUrl: deps.baseUrl, labelOf });
}
