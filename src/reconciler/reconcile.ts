import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import { recordChange } from '../database/tasks/feed.ts';
import {
  findRun,
  recordEnginePause,
  markEnginePauseSignalled,
  removeOldRuns,
  runsAwaitingCallback,
  runsNeverStarted,
  runsUnderWay,
  runsWithUnsignalledPause,
  viewOfRow,
  type TaskRunRow,
} from '../database/tasks/task-runs.ts';
import { storedPlan } from '../database/tasks/reruns.ts';
import {
  applyWorkflowEnd,
  applyEngineEnd,
  applyEnginePause,
  type UnrecordedChange,
} from '../domain/tasks/engine-changes.ts';
import { rehearsalSchema } from '../domain/tasks/rehearsal.ts';
import { isTerminal, isReportedByCallback } from '../domain/tasks/task-states.ts';
import type { TaskControl } from '../temporal/task-control.ts';
import type { RecordOutcome, RunChange } from '../domain/tasks/run-change.ts';
import type { Engine, EngineState } from './engine.ts';

const DAY_MS = 24 * 3_600_000;

export type Dependencies = {
  /** How long ended runs are kept. */
  runsKeptDays: number;
  database: Database;
  engine: Engine;
  control: TaskControl;
  clock: () => Date;
  log: Logger;
  /** Told of every change of a run that was written. */
  onRecorded?: ((change: RunChange) => void) | undefined;
  /** Told of what was taken up or put right. */
  onAction?: ((action: ReconcilerAction) => void) | undefined;
};

/** What the reconciler takes up of what others left, or writes of what Temporal does alone. */
export const RECONCILER_ACTIONS = [
  'run_started',
  'pause_noted',
  'end_noted',
  'callback_started',
  'group_started',
  'retry_started',
  'backlog_drained',
] as const;
export type ReconcilerAction = (typeof RECONCILER_ACTIONS)[number];

/** A submission is left alone for so long: its own request is still starting it. */
const SUBMISSION_MS = 3_000;
/** A callback is looked at only when it is older than all its attempts take. */
const CALLBACK_MS = 60_000;
const BATCH = 500;
/** How often a closed workflow is asked how it ended; each takes a second at most. */
const OWN_END_QUERIES = 5;

/**
 * What a workflow can not say of itself, since it runs no code then: paused, terminated or timed out in the
 * Temporal Web UI. Writes projection and feed, and tells the workflow of its pause.
 */
export async function syncWithEngine(dependencies: Dependencies): Promise<void> {
  const { engine, database, clock } = dependencies;
  for (const id of await engine.pausedRuns()) await recordPause(dependencies, id);
  for (const row of await runsWithUnsignalledPause(database)) await signalPause(dependencies, row);
  for (const id of await engine.runsClosedFromOutside(clock())) {
    const row = await findRun(database, id);
    if (row && !isTerminal(row.state)) await reconcileRun(dependencies, row);
  }
}

/** Starts runs that were stored but never started: their process died between the two. */
export async function startForgotten(dependencies: Dependencies): Promise<void> {
  const before = new Date(dependencies.clock().getTime() - SUBMISSION_MS);
  for (const row of await runsNeverStarted(dependencies.database, before, BATCH))
    await reconcileRun(dependencies, row);
}

/** Holds every run that has not ended against the engine, and every callback that nobody sends. */
export async function sweep(dependencies: Dependencies): Promise<void> {
  const { database, engine, clock } = dependencies;
  const now = clock().getTime();
  let after: string | null = null;
  do {
    const rows: TaskRunRow[] = await runsUnderWay(database, new Date(now - SUBMISSION_MS), {
      after,
      limit: BATCH,
    });
    for (const row of rows) await reconcileRun(dependencies, row);
    after = rows.length === BATCH ? (rows.at(-1)?.id ?? null) : null;
  } while (after !== null);
  for (const id of await runsAwaitingCallback(database, new Date(now - CALLBACK_MS), BATCH)) {
    const { kind } = await engine.stateOf(id);
    if (kind !== 'closed' && kind !== 'absent') continue;
    await engine.startCallback(id);
    dependencies.onAction?.('callback_started');
  }
}

/** Removes what is kept no longer, in batches that hold nobody up. */
export async function removeExpired(dependencies: Dependencies): Promise<void> {
  const before = new Date(dependencies.clock().getTime() - dependencies.runsKeptDays * DAY_MS);
  while ((await removeOldRuns(dependencies.database, before, BATCH)) === BATCH);
}

async function reconcileRun(dependencies: Dependencies, row: TaskRunRow): Promise<void> {
  const state = await dependencies.engine.stateOf(row.id);
  if (state.kind === 'absent')
    await (row.last_seq === 0 ? restartRun(dependencies, row) : recordDeletion(dependencies, row));
  if (state.kind === 'paused') await recordPause(dependencies, row.id, state);
  if (state.kind === 'closed') await recordEnd(dependencies, row.id, state);
}

async function restartRun(dependencies: Dependencies, row: TaskRunRow): Promise<void> {
  const { database, control, log } = dependencies;
  const rehearsal = rehearsalSchema.safeParse(row.metadata.rehearsal);
  await control.start({
    id: row.id,
    workspaceId: row.workspace_id,
    projectId: row.project_id,
    title: row.title,
    taskType: row.task_type,
    rehearsal: rehearsal.success ? rehearsal.data : null,
    hasCallback: Boolean(row.callback_url),
    hasPlan: (await storedPlan(database, row.id)) !== null,
    createdAt: row.created_at,
  });
  dependencies.onAction?.('run_started');
  log.warn({ execution_id: row.id }, 'started a run after its submission was interrupted');
}

/** A run that has recorded anything was started once: that its execution is gone is an operator's deletion. */
async function recordDeletion(dependencies: Dependencies, row: TaskRunRow): Promise<void> {
  await recordEnd(dependencies, row.id, {
    kind: 'closed',
    end: { state: 'cancelled' },
    closedAt: dependencies.clock(),
    byItself: false,
  });
}

async function recordPause(dependencies: Dependencies, id: string, known?: EngineState): Promise<void> {
  const { database, engine, log } = dependencies;
  const row = await findRun(database, id);
  if (!row || isTerminal(row.state) || (row.engine_paused_at && row.state === 'paused')) return;
  const state = known ?? (await engine.stateOf(id));
  if (state.kind !== 'paused') return;
  if (row.engine_paused_at?.getTime() !== state.pausedAt.getTime()) {
    await recordEnginePause(database, id, state.pausedAt);
  }
  const change = applyEnginePause(viewOfRow(row), state.by, state.pausedAt, state.reason);
  if (change) await write(dependencies, { executionId: id, ...change });
  dependencies.onAction?.('pause_noted');
  log.info({ execution_id: id, by: state.by }, 'run paused in the Temporal Web UI');
}

async function signalPause({ engine, database }: Dependencies, row: TaskRunRow): Promise<void> {
  if (!row.engine_paused_at) return;
  const pausedAt = row.engine_paused_at;
  await engine.tellOfPause(row.id, { pausedAt: pausedAt.toISOString(), by: row.paused_by ?? 'temporal' });
  await markEnginePauseSignalled(database, row.id, pausedAt);
}

async function recordEnd(
  dependencies: Dependencies,
  id: string,
  closed: EngineState & { kind: 'closed' },
): Promise<void> {
  const { database, engine, log } = dependencies;
  const row = await findRun(database, id);
  if (!row || isTerminal(row.state)) return;
  const change =
    (closed.byItself ? await readOwnEnd(dependencies, row) : null) ??
    applyEngineEnd(viewOfRow(row), row.created_at, closed.end, closed.closedAt);
  const { state } = change.view;
  const outcome = await write(dependencies, { executionId: id, ...change });
  dependencies.onAction?.('end_noted');
  log.info({ execution_id: id, state, outcome }, 'run ended in Temporal');
  if (outcome === 'recorded' && row.callback_url && isReportedByCallback(state)) {
    await engine.startCallback(id);
  }
}

async function write(
  { database, onRecorded }: Dependencies,
  change: RunChange,
): Promise<RecordOutcome['outcome']> {
  const { outcome } = await recordChange(database, change);
  if (outcome === 'recorded') onRecorded?.(change);
  return outcome;
}

/**
 * The end of a run that came to it by itself, which a database restored to an earlier time knows nothing of: the closed
 * workflow is asked. Null where it doesn't answer, or had not ended as a run does.
 */
async function readOwnEnd({ control }: Dependencies, row: TaskRunRow): Promise<UnrecordedChange | null> {
  for (let asked = 0; asked < OWN_END_QUERIES; asked += 1) {
    const said = await control.view(row.id);
    if (said !== null) return isTerminal(said.state) ? applyWorkflowEnd(viewOfRow(row), said) : null;
  }
  return null;
}
