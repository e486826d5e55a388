import { isTerminal } from '../../domain/tasks/task-states.ts';
import { readActorLabels } from '../../database/people/actors.ts';
import { readRunUsage } from '../../database/agents/agent-calls.ts';
import { listCallbackAttempts } from '../../database/tasks/callbacks.ts';
import { listReruns } from '../../database/tasks/reruns.ts';
import { findRun, readView, type RunWithView, type TaskRunRow } from '../../database/tasks/task-runs.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { notFound } from '../http/problem.ts';
import { presentDetail } from './presenter.ts';

/**
 * A run that the caller may see.
 * @throws Problem `not_found`, the same for one that does not exist and one of another project
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

/** How a run looks now. */
export async function readRun(deps: Dependencies, row: TaskRunRow): Promise<RunWithView> {
  return await readView(deps.database, row, (id) => deps.control.view(id));
}

/** The detail as it is answered. */
export async function detailOf(deps: Dependencies, { row, view }: RunWithView) {
  const told = row.callback_url !== null && isTerminal(view.state);
  // Only an ended run can have been taken up by others.
  const [usage, attempts, reruns, labelOf] = await Promise.all([
    readRunUsage(deps.database, row.id),
    told ? listCallbackAttempts(deps.database, row.id) : [],
    isTerminal(view.state) ? listReruns(deps.database, row.id) : [],
    readActorLabels(deps.database, [row.created_by]),
  ]);
  return presentDetail(row, view, { usage, attempts, reruns }, { baseUrl: deps.baseUrl, labelOf });
}
