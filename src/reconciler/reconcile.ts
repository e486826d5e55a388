import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import { listCallbackRetries } from '../database/tasks/callbacks.ts';
import { claimDuePushes, releasePush } from '../database/tasks/push.ts';
import { recordChangeOfView } from '../database/tasks/feed.ts';
import { viewOfRow } from '../database/tasks/run-views.ts';
import {
  findEndedRuns,
  findOpenRuns,
  findRun,
  findUnrecordedPauses,
  recordEnginePause,
  markEnginePauseSignalled,
  removeOldRuns,
  listRunsAwaitingCallback,
  listUnstartedRuns,
  listOpenRuns,
  listEnginePausedRuns,
  type EnginePausedRun,
  type TaskRunRow,
} from '../database/tasks/task-runs.ts';
import { findPlan } from '../database/tasks/reruns.ts';
import {
  applyWorkflowEnd,
  applyEngineEnd,
  applyEnginePause,
  type UnrecordedChange,
} from '../domain/tasks/engine-changes.ts';
import { PUSH_CLAIM_MS } from '../domain/common/limits.ts';
import { isTerminal, isReportedByCallback } from '../domain/tasks/task-states.ts';
import { runToStart, type TaskControl } from '../temporal/task-control.ts';
import type { RunChange } from '../domain/tasks/run-change.ts';
import type { RunInspector, EngineState } from './run-inspector.ts';
import { CONCURRENT_STARTS, forEachRow } from './rows.ts';

const DAY_MS = 24 * 3_600_000;

export type Dependencies = {
  /** Retention of ended runs, in days. */
  runsKeptDays: number;
  database: Database;
  engine: RunInspector;
  control: TaskControl;
  clock: () => Date;
  log: Logger;
  /** Called for every recorded change of a run. */
  onRecorded?: ((change: RunChange) => void) | undefined;
  /** Called for every repair. */
  onAction?: ((action: ReconcilerAction) => void) | undefined;
};

/** Kinds of repairs: work that other processes left, and changes that only Temporal has. */
export const RECONCILER_ACTIONS = [
  'run_started',
  'pause_noted',
  'pause_repaired',
  'end_noted',
  'callback_started',
  'push_started',
  'group_started',
  'retry_started',
  'scheduled_retry_started',
  'backlog_drained',
  'manual_retries_started',
] as const;
export type ReconcilerAction = (typeof RECONCILER_ACTIONS)[number];

/** Time for the request of a submission to start the run itself, in milliseconds. */
const SUBMISSION_MS = 3_000;
/** Age of a callback, in milliseconds, after which all its attempts must be over. */
const CALLBACK_MS = 60_000;
/** Time in which a workflow ends after it has recorded the end of its run, in milliseconds. */
const WORKFLOW_END_MS = 60_000;
const BATCH = 500;
/** Runs that one statement removes, with all their events. */
const REMOVAL_BATCH = 100;
/** Time for the removal of runs in one turn, in milliseconds. */
const REMOVAL_MS = 10_000;
/** Ids of open runs that one statement reads. */
const SWEEP_BATCH = 5_000;
/** Number of queries to a closed workflow for its end. Each takes a second at most. */
const OWN_END_QUERIES = 5;
/** Tries to change a run that changes itself at the same time. The next turn tries again. */
const MAX_TRIES = 3;

/*
 * A workflow cannot record that it was paused, terminated or timed out in the Temporal Web UI, since its code does not
 * run. The next functions write the projection and the feed, and signal the pause to the workflow.
 */

/** Records runs that were paused in the Temporal Web UI. */
export async function recordPauses(dependencies: Dependencies): Promise<void> {
  const unrecorded = await findUnrecordedPauses(
    dependencies.database,
    await dependencies.engine.pausedRuns(),
  );
  await forEachRow(unrecorded, String, (id) => recordPause(dependencies, id), CONCURRENT_STARTS);
}

/** Signals recorded pauses to their workflows. */
export async function signalPauses(dependencies: Dependencies): Promise<void> {
  const rows = await listEnginePausedRuns(dependencies.database, { signalled: false });
  await forEachRow(rows, idOf, (row) => signalPause(dependencies, row), CONCURRENT_STARTS);
}

/** Repairs runs that cannot continue after a pause. */
export async function repairPauses(dependencies: Dependencies): Promise<void> {
  const rows = await listEnginePausedRuns(dependencies.database, { signalled: true });
  if (rows.length === 0) return;
  const paused = new Set(await dependencies.engine.pausedRuns());
  const others = rows.filter(({ id }) => !paused.has(id));
  await forEachRow(others, idOf, ({ id }) => repairAfterPause(dependencies, id), CONCURRENT_STARTS);
}

/** Records runs that were recently terminated or timed out. */
export async function recordEnds(dependencies: Dependencies): Promise<void> {
  const { engine, database, clock } = dependencies;
  const open = await findOpenRuns(database, await engine.runsClosedFromOutside(clock()));
  await forEachRow(open, String, (id) => reconcileRun(dependencies, id), CONCURRENT_STARTS);
}

/** Starts runs that were stored but not started: their process died before that, or Temporal was unavailable. */
export async function startUnstartedRuns(dependencies: Dependencies): Promise<void> {
  const before = new Date(dependencies.clock().getTime() - SUBMISSION_MS);
  const rows = await listUnstartedRuns(dependencies.database, before, BATCH);
  await forEachRow(rows, idOf, (row) => restartRun(dependencies, row), CONCURRENT_STARTS);
}

/**
 * Compares all open runs with Temporal's list, and asks about those that are not in it. Then ends open workflows whose run
 * has ended.
 */
export async function sweep(dependencies: Dependencies): Promise<void> {
  const before = new Date(dependencies.clock().getTime() - SUBMISSION_MS);
  const listed = new Set(await dependencies.engine.openRuns());
  const others = otherOpenRuns(dependencies.database, before, listed);
  await forEachRow(others, String, (id) => reconcileRun(dependencies, id), CONCURRENT_STARTS);
  await endLeftWorkflows(dependencies, [...listed]);
}

/**
 * Ends workflows that do not know that their run has ended, and may wait for somebody to continue it: Temporal was restored from
 * an older backup than PostgreSQL, or a worker of an older version recorded the end in an outdated workflow task. The signal
 * makes the workflow write, and so find the recorded end. It also sends the callback.
 */
async function endLeftWorkflows({ database, engine, clock, log }: Dependencies, ids: readonly string[]) {
  const before = new Date(clock().getTime() - WORKFLOW_END_MS);
  const ended = await findEndedRuns(database, ids, before);
  await forEachRow(ended, String, async (id) => {
    if (!(await engine.cancelWaiting(id, { by: 'system' }))) return;
    log.warn({ execution_id: id }, 'ended the workflow of a run that had already ended');
  });
}

async function* otherOpenRuns(
  database: Database,
  before: Date,
  listed: ReadonlySet<string>,
): AsyncGenerator<string> {
  let after: string | null = null;
  do {
    const ids: string[] = await listOpenRuns(database, before, { after, limit: SWEEP_BATCH });
    yield* ids.filter((id) => !listed.has(id));
    after = ids.length === SWEEP_BATCH ? (ids.at(-1) ?? null) : null;
  } while (after !== null);
}

/** Starts callbacks that nothing sends. */
export async function startUnsentCallbacks(dependencies: Dependencies): Promise<void> {
  const { database, engine, clock } = dependencies;
  const before = new Date(clock().getTime() - CALLBACK_MS);
  await forEachRow(await listRunsAwaitingCallback(database, before, BATCH), String, async (id) => {
    const { kind } = await engine.stateOf(id);
    if (kind !== 'closed' && kind !== 'absent') return;
    if (await engine.startCallback(id)) dependencies.onAction?.('callback_started');
  });
}

/** Starts manual retries of callbacks that were requested but not started. */
export async function startUnstartedCallbackRetries(dependencies: Dependencies): Promise<void> {
  const { database, control, onAction } = dependencies;
  const executionIdOf = ({ executionId }: { executionId: string }) => executionId;
  await forEachRow(await listCallbackRetries(database, BATCH), executionIdOf, async (retry) => {
    if ((await control.retryCallback(retry)) === 'started') onAction?.('callback_started');
  });
}

/** Starts to send push notifications of events that were not sent. */
export async function startPushes(dependencies: Dependencies): Promise<void> {
  const { database, control, clock, onAction } = dependencies;
  const now = clock();
  const until = new Date(now.getTime() + PUSH_CLAIM_MS);
  const due = await claimDuePushes(database, { now, until, limit: BATCH });
  const executionIdOf = ({ executionId }: { executionId: string }) => executionId;
  await forEachRow(
    due,
    executionIdOf,
    async (push) => {
      const outcome = await control.sendPushes(push).catch(async (error: unknown) => {
        await releasePush(database, push);
        throw error;
      });
      if (outcome === 'started') onAction?.('push_started');
      // The workflow may be ending without this event. If it is not, it extends the claim with its next attempt.
      else await releasePush(database, push);
    },
    CONCURRENT_STARTS,
  );
}

function idOf({ id }: { id: string }): string {
  return id;
}

/**
 * Removes ended runs past their retention, in short batches. If there are many, a later turn continues, since the other
 * slow parts wait.
 */
export async function removeExpired({ database, clock, runsKeptDays }: Dependencies): Promise<void> {
  const begun = clock().getTime();
  const before = new Date(begun - runsKeptDays * DAY_MS);
  while ((await removeOldRuns(database, before, REMOVAL_BATCH)) === REMOVAL_BATCH) {
    if (clock().getTime() - begun > REMOVAL_MS) return;
  }
}

async function reconcileRun(dependencies: Dependencies, id: string): Promise<void> {
  const row = await findRun(dependencies.database, id);
  if (!row || isTerminal(row.state)) return;
  if (row.last_seq === 0) await restartRun(dependencies, row);
  else await reconcileKnownRun(dependencies, row);
}

/** Compares a run whose workflow was started with Temporal. */
async function reconcileKnownRun(dependencies: Dependencies, row: TaskRunRow): Promise<void> {
  const state = await dependencies.engine.stateOf(row.id);
  if (state.kind === 'absent') await recordDeletion(dependencies, row);
  if (state.kind === 'paused') await recordPause(dependencies, row.id, state);
  if (state.kind === 'closed') await recordEnd(dependencies, row.id, state);
}

async function restartRun(dependencies: Dependencies, row: TaskRunRow): Promise<void> {
  const { database, control, log } = dependencies;
  const outcome = await control.start(runToStart(row, (await findPlan(database, row.id)) !== null));
  if (outcome === 'known') return await reconcileKnownRun(dependencies, row);
  dependencies.onAction?.('run_started');
  log.warn({ execution_id: row.id }, 'started a run that was accepted but not started');
}

/**
 * Records the end of a run whose execution is gone. A run with recorded events was started once, so an operator has
 * deleted its execution.
 */
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
  const state = known ?? (await engine.stateOf(id));
  if (state.kind !== 'paused') return;
  const isNoted = await changeRun(dependencies, id, async (row) => {
    if (row.engine_paused_at && row.state === 'paused') return null;
    const change = applyEnginePause(viewOfRow(row), state.by, state.pausedAt, state.reason);
    // A run that was already paused through the API does not change, so the pause is written without a change.
    if (change === null) await recordEnginePause(database, id, state.pausedAt);
    return change;
  });
  if (isNoted === null) return;
  dependencies.onAction?.('pause_noted');
  log.info({ execution_id: id, by: state.by }, 'run paused in the Temporal Web UI');
}

async function signalPause({ engine, database }: Dependencies, row: EnginePausedRun): Promise<void> {
  if (!row.engine_paused_at) return;
  const pausedAt = row.engine_paused_at;
  await engine.signalPause(row.id, { pausedAt: pausedAt.toISOString(), by: row.paused_by ?? 'temporal' });
  await markEnginePauseSignalled(database, row.id, pausedAt);
}

async function repairAfterPause({ engine, log, onAction }: Dependencies, id: string): Promise<void> {
  if (!(await engine.repairAfterPause(id))) return;
  onAction?.('pause_repaired');
  log.warn({ execution_id: id }, 'reset a run that could not continue after a pause in the Web UI');
}

async function recordEnd(
  dependencies: Dependencies,
  id: string,
  closed: EngineState & { kind: 'closed' },
): Promise<void> {
  const { engine, control, log } = dependencies;
  if (!closed.byItself) await control.cancelAgents(id);
  const ended = await changeRun(
    dependencies,
    id,
    async (row) =>
      (closed.byItself ? await readOwnEnd(dependencies, row) : null) ??
      applyEngineEnd(viewOfRow(row), row.created_at, closed.end, closed.closedAt),
  );
  if (ended === null) return;
  const { row, view } = ended;
  dependencies.onAction?.('end_noted');
  log.info({ execution_id: id, state: view.state }, 'run ended in Temporal');
  if (row.callback_url && isReportedByCallback(view.state)) await engine.startCallback(id);
}

/**
 * Changes the row of a run that has not ended. If the run itself writes a change at the same time, reads the row again:
 * a change made from an older view would overwrite it. Returns the row before and the view after the change; null if
 * nothing was written.
 */
async function changeRun(
  { database, onRecorded }: Dependencies,
  id: string,
  changeOf: (row: TaskRunRow) => Promise<UnrecordedChange | null>,
): Promise<{ row: TaskRunRow; view: UnrecordedChange['view'] } | null> {
  for (let tried = 0; tried < MAX_TRIES; tried += 1) {
    const row = await findRun(database, id);
    if (!row || isTerminal(row.state)) return null;
    const unrecorded = await changeOf(row);
    if (unrecorded === null) return null;
    const change = { executionId: id, ...unrecorded };
    if (await recordChangeOfView(database, change, row.view_seq)) {
      onRecorded?.(change);
      return { row, view: change.view };
    }
  }
  return null;
}

/**
 * Queries the closed workflow of a run that ended by itself, if the database was restored to an earlier time and does
 * not contain that end. Returns null if the workflow does not answer, or did not end as a run does.
 */
async function readOwnEnd({ control }: Dependencies, row: TaskRunRow): Promise<UnrecordedChange | null> {
  for (let asked = 0; asked < OWN_END_QUERIES; asked += 1) {
    const view = await control.view(row.id);
    if (view !== null) return isTerminal(view.state) ? applyWorkflowEnd(viewOfRow(row), view) : null;
  }
  return null;
}
