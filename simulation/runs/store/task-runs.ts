import type * as real from '../../../src/database/tasks/task-runs.ts';
import type { NewRun } from '../../../src/database/tasks/task-runs.ts';
import { compare } from '../../store/tables.ts';
import { runsWhere, statement, type RunRow, type RunTables } from './tables.ts';

/* Replaces `src/database/tasks/task-runs.ts`: the statements that the reconciler and the requests of callers use. */

export const insertRun: typeof real.insertRun = statement('insertRun', (tables, run: NewRun) => {
  if (tables.runs.has(run.id)) throw Object.assign(new Error('the run exists'), { code: '23505' });
  tables.runs.set(run.id, rowOf(run));
});

/** Returns the row of a new run, with the defaults of the table. */
function rowOf(run: NewRun): RunRow {
  return {
    rerun_of: null,
    rerun_from: null,
    plan: null,
    ...run,
    updated_at: run.created_at,
    state: 'initializing',
    paused_from: null,
    steps: [],
    started_at: null,
    paused_at: null,
    paused_by: null,
    paused_ms: 0,
    completed_at: null,
    duration_ms: null,
    output: null,
    errors: [],
    escalation: null,
    last_seq: 0,
    view_seq: 0,
    last_writer: null,
    engine_paused_at: null,
    engine_pause_signalled: false,
    callback_status: run.callback_url === null ? 'none' : 'pending',
    callback_body: null,
    callback_retry_id: null,
    question: null,
  };
}

export const findRun: typeof real.findRun = statement(
  'findRun',
  (tables, id: string): RunRow | null => tables.runs.get(id) ?? null,
);

const isOpen = ({ completed_at: at }: RunRow) => at === null;
const oldestFirst = (one: RunRow, other: RunRow) => one.created_at.getTime() - other.created_at.getTime();

export const listUnstartedRuns: typeof real.listUnstartedRuns = statement(
  'listUnstartedRuns',
  (tables, before: Date, limit: number) =>
    runsWhere(tables, (row) => isOpen(row) && row.state === 'initializing' && row.last_seq === 0)
      .filter(({ created_at: at }) => at < before)
      .toSorted(oldestFirst)
      .slice(0, limit),
);

export const listOpenRuns: typeof real.listOpenRuns = statement(
  'listOpenRuns',
  (tables, before: Date, { after, limit }: { after: string | null; limit: number }) =>
    runsWhere(tables, (row) => isOpen(row) && row.created_at < before && (after === null || row.id > after))
      .map(({ id }) => id)
      .toSorted(compare)
      .slice(0, limit),
);

const openOf = ({ runs }: RunTables, ids: readonly string[]): RunRow[] =>
  ids.flatMap((id) => runs.get(id) ?? []).filter(isOpen);

export const findOpenRuns: typeof real.findOpenRuns = statement(
  'findOpenRuns',
  (tables, ids: readonly string[]) => openOf(tables, ids).map(({ id }) => id),
);

export const findEndedRuns: typeof real.findEndedRuns = statement(
  'findEndedRuns',
  (tables, ids: readonly string[], before: Date) =>
    runsWhere(tables, ({ id, completed_at: at }) => ids.includes(id) && Boolean(at && at < before)).map(
      ({ id }) => id,
    ),
);

export const findUnrecordedPauses: typeof real.findUnrecordedPauses = statement(
  'findUnrecordedPauses',
  (tables, ids: readonly string[]) =>
    openOf(tables, ids)
      .filter(({ engine_paused_at: at, state }) => at === null || state !== 'paused')
      .map(({ id }) => id),
);

export const listEnginePausedRuns: typeof real.listEnginePausedRuns = statement(
  'listEnginePausedRuns',
  (tables, { signalled }: { signalled: boolean }) =>
    runsWhere(tables, isOpen)
      .filter((row) => row.engine_paused_at !== null && row.engine_pause_signalled === signalled)
      .map(({ id, engine_paused_at, paused_by }) => ({ id, engine_paused_at, paused_by })),
);

export const recordEnginePause: typeof real.recordEnginePause = statement(
  'recordEnginePause',
  (tables, id: string, pausedAt: Date) => {
    const row = tables.runs.get(id);
    if (row?.state === 'paused')
      Object.assign(row, { engine_paused_at: pausedAt, engine_pause_signalled: false });
  },
);

export const markEnginePauseSignalled: typeof real.markEnginePauseSignalled = statement(
  'markEnginePauseSignalled',
  (tables, id: string, pausedAt: Date) => {
    const row = tables.runs.get(id);
    if (row?.engine_paused_at?.getTime() === pausedAt.getTime()) row.engine_pause_signalled = true;
  },
);

export const listRunsAwaitingCallback: typeof real.listRunsAwaitingCallback = statement(
  'listRunsAwaitingCallback',
  (tables, before: Date, limit: number) =>
    runsWhere(tables, ({ callback_status: status, completed_at: at }) => {
      return status === 'pending' && at !== null && at !== undefined && at < before;
    })
      .toSorted((one, other) => (one.completed_at?.getTime() ?? 0) - (other.completed_at?.getTime() ?? 0))
      .slice(0, limit)
      .map(({ id }) => id),
);

export const removeOldRuns: typeof real.removeOldRuns = async () => 0;
