import type { FeedEntry } from './feed-events.ts';
import type { RunView } from './run-schemas.ts';
import { progressOf } from './task-run.ts';
import type { RunErrorCode } from './task-states.ts';

/** A view and the events that lead to it, not recorded yet. */
export type UnrecordedChange = {
  view: Omit<RunView, 'last_seq'>;
  entries: FeedEntry[];
  /** See `RunChange`. */
  enginePausedAt?: string;
};

/**
 * Returns the change for a run that was paused in Temporal, where its workflow cannot record it. Returns null if the
 * run is paused already or cannot be paused. `pausedAt` is the start of Temporal's pause.
 */
export function applyEnginePause(
  view: RunView,
  by: string,
  pausedAt: Date,
  reason: string | null,
): UnrecordedChange | null {
  const { last_seq: _, ...rest } = view;
  if (view.state !== 'initializing' && view.state !== 'planning' && view.state !== 'executing') return null;
  const at = pausedAt.toISOString();
  const data = { from: view.state, to: 'paused', by, ...(reason ? { reason } : {}) };
  return {
    view: { ...rest, state: 'paused', paused_from: view.state, paused_at: at, paused_by: by },
    entries: [{ key: `engine-pause:${at}`, type: 'state.changed', at, data }],
    enginePausedAt: at,
  };
}

/** How a run ends that Temporal closed without running its workflow: terminated → cancelled, all others → failed. */
export type EngineEnd = { state: 'cancelled' } | { state: 'failed'; code: RunErrorCode; message: string };

/** Returns the change for a run that was ended in Temporal at `closedAt`. */
export function applyEngineEnd(
  view: RunView,
  createdAt: Date,
  end: EngineEnd,
  closedAt: Date,
): UnrecordedChange {
  const { last_seq: _, ...rest } = view;
  const startedAt = view.started_at ?? createdAt.toISOString();
  const completedAt = new Date(Math.max(closedAt.getTime(), Date.parse(startedAt)));
  const at = completedAt.toISOString();
  const errors =
    end.state === 'failed'
      ? [...view.errors, { code: end.code, message: end.message, step: null, agent: null, at }]
      : view.errors;
  const steps = view.steps.map((step) => {
    if (step.status === 'pending') return { ...step, status: 'skipped' as const };
    if (step.status !== 'running') return step;
    const ranMs =
      step.started_at === null ? 0 : Math.max(0, completedAt.getTime() - Date.parse(step.started_at));
    return { ...step, status: 'cancelled' as const, completed_at: at, duration_ms: ranMs };
  });
  const pausedMs =
    view.paused_at === null ? 0 : Math.max(0, completedAt.getTime() - Date.parse(view.paused_at));
  const ended = {
    ...rest,
    state: end.state,
    paused_from: null,
    paused_at: null,
    paused_by: null,
    paused_ms: view.paused_ms + pausedMs,
    started_at: startedAt,
    completed_at: at,
    duration_ms: completedAt.getTime() - Date.parse(startedAt),
    question: null,
    steps,
    progress: progressOf(steps),
    errors,
  };
  const { duration_ms, escalation } = ended;
  const entry = (type: 'state.changed' | 'run.ended', data: Record<string, unknown>): FeedEntry => ({
    key: type === 'run.ended' ? type : 'engine-end',
    type,
    at,
    data,
  });
  return {
    view: ended,
    entries: [
      entry('state.changed', { from: view.state, to: end.state, by: 'temporal' }),
      entry('run.ended', { state: end.state, duration_ms, errors, escalation }),
    ],
  };
}

/**
 * Returns the change for a run that ended by itself, as its workflow reports it, if the stored row does not contain
 * that end.
 */
export function applyWorkflowEnd(stored: RunView, reported: RunView): UnrecordedChange {
  const { last_seq: _, ...view } = reported;
  const at = reported.completed_at ?? new Date(0).toISOString();
  const { state, duration_ms, errors, escalation } = reported;
  return {
    view,
    entries: [
      {
        key: 'engine-end',
        type: 'state.changed',
        at,
        data: { from: stored.state, to: state, by: 'temporal' },
      },
      { key: 'run.ended', type: 'run.ended', at, data: { state, duration_ms, errors, escalation } },
    ],
  };
}
