import type { RunView } from '../../domain/tasks/run-schemas.ts';
import { progressOf } from '../../domain/tasks/task-run.ts';
import { isTerminal } from '../../domain/tasks/task-states.ts';
import type { Database } from '../database.ts';
import { findRun, type ListedRun, type TaskRunRow } from './task-runs.ts';

/** Returns the stored projection of a run, with the fields of the workflow's own view; without the output of a listed run. */
export function viewOfRow(row: ListedRun & Partial<TaskRunRow>): RunView {
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

/** A run and its current view. */
export type RunWithView = { row: TaskRunRow; view: RunView };

/**
 * Returns the current view of a run: from the workflow by `ask` while it is in progress; the stored projection if it
 * has ended, is paused in the Temporal Web UI or does not respond (null). Never returns an older view than the stored
 * one. The row is as new as the view.
 */
export async function readView(
  database: Database,
  row: TaskRunRow,
  ask: (id: string) => Promise<RunView | null>,
): Promise<RunWithView> {
  const stored = viewOfRow(row);
  if (isTerminal(row.state) || row.engine_paused_at) return { row, view: stored };
  const view = await ask(row.id);
  if (view !== null && !isTerminal(view.state)) return { row, view: newestOf(stored, view) };
  // The run has just ended, or the query may have failed because of that. Then the row is newer by now.
  const later = (await findRun(database, row.id)) ?? row;
  return { row: later, view: newestOf(viewOfRow(later), view) };
}

/** Returns the stored view, unless the workflow has a newer one: the database was restored. */
function newestOf(stored: RunView, view: RunView | null): RunView {
  return view !== null && view.last_seq > stored.last_seq ? view : stored;
}
