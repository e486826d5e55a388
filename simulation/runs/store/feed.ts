import type * as real from '../../../src/database/tasks/feed.ts';
import type { Database } from '../../../src/database/database.ts';
import { callbackBody } from '../../../src/domain/tasks/callback.ts';
import type { FeedEvent } from '../../../src/domain/tasks/feed-events.ts';
import type { RecordOutcome, RunChange, Writer } from '../../../src/domain/tasks/run-change.ts';
import type { RunView, Step } from '../../../src/domain/tasks/run-schemas.ts';
import { keepReached, positionOf, type Reached } from '../../../src/domain/tasks/reached-state.ts';
import { isReportedByCallback } from '../../../src/domain/tasks/task-states.ts';
import { addEvents, eventsOf, statement, type EventRow, type RunRow, type RunTables } from './tables.ts';

/* Replaces `src/database/tasks/feed.ts`. */

export const recordChange: typeof real.recordChange = async (database, given) => {
  const outcome = await writeOnce(database, given);
  return outcome.outcome === 'recorded' && given.history ? { ...outcome, history: given.history } : outcome;
};

async function writeOnce(database: Database, change: RunChange): Promise<RecordOutcome> {
  const lastSeq = await writeChange(database, change, null);
  if (lastSeq !== null) return { outcome: 'recorded', lastSeq };
  const reached = await findReached(database, change.executionId);
  const kept = reached === null ? change : keepReached(change, reached);
  if (kept !== change) return await writeOnce(database, kept);
  if (change.enginePauseOver === true && change.entries.length > 0)
    await writeChange(database, { ...change, view: null, entries: [] }, null);
  return await outcomeOfUnwritten(database, change);
}

export const recordChangeOfView: typeof real.recordChangeOfView = async (database, change, viewSeq) =>
  (await writeChange(database, change, viewSeq)) !== null;

const writeChange = statement(
  'recordChange',
  (tables, change: RunChange, viewSeq: number | null): number | null => {
    const { executionId, entries, view } = change;
    const row = tables.runs.get(executionId);
    if (!row || row.completed_at || (viewSeq !== null && row.view_seq !== viewSeq)) return null;
    const known = new Set(eventsOf(tables, executionId).map(({ key }) => key));
    const fresh = entries.filter(({ key }) => !known.has(key));
    const enginePauseOver = change.enginePauseOver === true;
    if (fresh.length === 0 && !(enginePauseOver && entries.length === 0)) return null;
    if (isOutdated(change.writer, row.last_writer)) return null;
    if (view && positionOf(view) < positionOf(reachedBy(row))) return null;
    row.last_writer = change.writer ?? row.last_writer ?? null;
    addEvents(tables, row, fresh);
    row.updated_at = new Date();
    if (view) setView(row, { ...change, view }, enginePauseOver);
    else if (enginePauseOver) row.engine_paused_at = null;
    return row.last_seq;
  },
);

const findReached = statement('findReached', (tables, id: string): Reached | null => {
  const row = tables.runs.get(id);
  return row ? reachedBy(row) : null;
});

function reachedBy({ state, paused_from, steps, started_at }: RunRow): Reached {
  return { state, paused_from: paused_from ?? null, steps, started_at: started_at?.toISOString() ?? null };
}

function isOutdated(writer: Writer | undefined, last: Writer | null | undefined): boolean {
  if (!writer || !last) return false;
  const isRepeated = last.runId === writer.runId && last.events > writer.events;
  return isRepeated || last.continuedFrom === writer.runId;
}

/** Sets the columns of a view. */
function setView(
  row: RunRow,
  { executionId, view, plan, enginePausedAt }: RunChange & { view: Omit<RunView, 'last_seq'> },
  enginePauseOver: boolean,
): void {
  const ends = view.completed_at !== null;
  const pausedAt = row.engine_paused_at ?? null;
  const holds = pausedAt !== null && !(ends || enginePauseOver) && row.state === 'paused';
  const { state, paused_from, paused_by, paused_ms, duration_ms, output, errors, escalation } = view;
  const times = { paused_at: dateOf(view.paused_at), started_at: dateOf(view.started_at) };
  const pause = { state, paused_from, paused_at: times.paused_at, paused_by };
  const sendsCallback = ends && isReportedByCallback(state);
  const isSamePause = enginePausedAt === undefined || pausedAt?.toISOString() === enginePausedAt;
  Object.assign(row, {
    ...(holds ? {} : pause),
    ...structuredClone({ paused_ms, duration_ms, output, errors, escalation, question: view.question }),
    view_seq: row.last_seq,
    steps: keepingCompleted(row.steps, view),
    plan: plan ? structuredClone(plan) : row.plan,
    started_at: times.started_at,
    completed_at: dateOf(view.completed_at),
    engine_paused_at: ends || enginePauseOver ? null : (dateOf(enginePausedAt ?? null) ?? pausedAt),
    engine_pause_signalled: row.engine_pause_signalled && isSamePause,
    callback_status: row.callback_url === null || (ends && !sendsCallback) ? 'none' : row.callback_status,
    callback_body: row.callback_url !== null && sendsCallback ? callbackBody(executionId, view) : null,
  });
}

/** Keeps steps that were recorded as completed before, if one of them is not completed in the reported steps. */
function keepingCompleted(
  earlier: readonly Step[],
  { steps, completed_at: endedAt }: Pick<RunView, 'steps' | 'completed_at'>,
): Step[] {
  const isCompleted = ({ status }: Step) => status === 'completed';
  const completed = new Map(earlier.filter(isCompleted).map((step) => [step.id, step]));
  const known = new Set(steps.filter(isCompleted).map(({ id }) => id));
  if ([...completed.keys()].every((id) => known.has(id))) return structuredClone(steps);
  if (steps.length > 0) return structuredClone(steps.map((step) => completed.get(step.id) ?? step));
  return endedAt === null ? [...earlier] : earlier.map((step) => closedStep(step, endedAt));
}

function closedStep(step: Step, endedAt: string): Step {
  if (step.status === 'pending') return { ...step, status: 'skipped' };
  return step.status === 'running' ? { ...step, status: 'cancelled', completed_at: endedAt } : step;
}

function dateOf(time: string | null): Date | null {
  return time === null ? null : new Date(time);
}

/** Returns why a change was not written. */
const outcomeOfUnwritten = statement(
  'findOutcome',
  (tables, { executionId, entries, view }: RunChange): RecordOutcome => {
    const row = tables.runs.get(executionId);
    if (!row) return { outcome: 'missing' };
    const sameEnd = view?.completed_at != null && view.state === row.state;
    if (row.completed_at && !sameEnd) return { outcome: 'ended', state: row.state, lastSeq: row.last_seq };
    const keys = new Set(entries.map(({ key }) => key));
    const found = eventsOf(tables, executionId).filter(({ key }) => keys.has(key));
    if (!row.completed_at && found.length < entries.length)
      throw new Error(`another worker has repeated this workflow task of the run ${executionId}`);
    return { outcome: 'recorded', lastSeq: found.at(-1)?.seq ?? (view ? row.view_seq : row.last_seq) };
  },
);

export const listEventsAfter: typeof real.listEventsAfter = statement(
  'listEventsAfter',
  (tables, executionId: string, after: number, limit: number): FeedEvent[] =>
    eventsOf(tables, executionId)
      .filter(({ seq }) => seq > after)
      .slice(0, limit)
      .map((event) => feedEventOf(executionId, event)),
);

function feedEventOf(execution_id: string, { seq, type, at, data }: EventRow): FeedEvent {
  return { seq, type, execution_id, at: new Date(at).toISOString(), data };
}

export const findLastProgress: typeof real.findLastProgress = statement(
  'findLastProgress',
  (tables: RunTables, executionId: string, prefix: string): number =>
    eventsOf(tables, executionId).reduce(
      (last, { key }) => (key.startsWith(prefix) ? Math.max(last, Number(key.slice(prefix.length))) : last),
      0,
    ),
);
