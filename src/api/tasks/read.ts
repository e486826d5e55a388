import type { RunView } from '../../domain/task-run.ts';
import { isTerminal } from '../../domain/task-states.ts';
import { callbackAttempts } from '../../database/callbacks.ts';
import { findRun, viewOfRow, type TaskRunRow } from '../../database/task-runs.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { notFound } from '../http/problem.ts';
import { presentDetail } from './presenter.ts';

/** A run and how it looks now. */
export type Reading = { row: TaskRunRow; view: RunView };

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

/**
 * How a run looks: the workflow's own answer while it goes on, the stored projection when it has ended, is paused
 * in the Temporal Web UI or does not answer in time. Never an older one than is stored.
 */
export async function readRun(deps: Dependencies, row: TaskRunRow): Promise<Reading> {
  const stored = viewOfRow(row);
  if (isTerminal(row.state) || row.engine_paused_at) return { row, view: stored };
  const view = await deps.control.view(row.id);
  if (view) return { row, view: view.last_seq >= stored.last_seq ? view : stored };
  // The query may have failed because the run has just ended: then the row knows better by now.
  const later = (await findRun(deps.database, row.id)) ?? row;
  return { row: later, view: viewOfRow(later) };
}

/** The detail as it is answered. */
export async function detailOf(deps: Dependencies, { row, view }: Reading) {
  const told = row.callback_url !== null && isTerminal(view.state);
  const attempts = told ? await callbackAttempts(deps.database, row.id) : [];
  return presentDetail(row, view, attempts, deps.baseUrl);
}
