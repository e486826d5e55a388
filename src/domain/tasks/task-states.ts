/** The states of a run (docs/how-it-works.md). */

export const TASK_STATES = [
  'initializing',
  'planning',
  'executing',
  'paused',
  'completed',
  'failed',
  'cancelled',
  'escalated',
] as const;
export type TaskState = (typeof TASK_STATES)[number];

export const TERMINAL_STATES = ['completed', 'failed', 'cancelled', 'escalated'] as const;
export type TerminalState = (typeof TERMINAL_STATES)[number];

/** States that a paused run can return to. */
export const ACTIVE_STATES = ['initializing', 'planning', 'executing'] as const;
export type ActiveState = (typeof ACTIVE_STATES)[number];

/** The end states that a callback reports (docs/callbacks.md). */
export const CALLBACK_STATES = ['completed', 'failed', 'escalated'] as const;
export type CallbackState = (typeof CALLBACK_STATES)[number];

export const TRANSITION_TRIGGERS = [
  'runner_started',
  'agents_chosen',
  'all_work_done',
  'unrecoverable',
  'human_requested',
  'paused',
  'continued',
  'cancelled',
] as const;
export type TransitionTrigger = (typeof TRANSITION_TRIGGERS)[number];

/**
 * State → trigger → next state. Other changes are not allowed. `continued` returns to the state that the run was paused
 * from, see {@link nextState}.
 */
const TRANSITIONS: Readonly<
  Record<TaskState, Readonly<Partial<Record<TransitionTrigger, TaskState | 'paused_from'>>>>
> = {
  initializing: {
    runner_started: 'planning',
    unrecoverable: 'failed',
    paused: 'paused',
    cancelled: 'cancelled',
  },
  planning: {
    agents_chosen: 'executing',
    unrecoverable: 'failed',
    paused: 'paused',
    cancelled: 'cancelled',
  },
  executing: {
    all_work_done: 'completed',
    unrecoverable: 'failed',
    human_requested: 'escalated',
    paused: 'paused',
    cancelled: 'cancelled',
  },
  paused: { continued: 'paused_from', unrecoverable: 'failed', cancelled: 'cancelled' },
  completed: {},
  failed: {},
  cancelled: {},
  escalated: {},
};

/** Returns whether a state is final: `completed`, `failed`, `cancelled` or `escalated`. */
export function isTerminal(state: ShownState): state is TerminalState {
  return (TERMINAL_STATES as readonly ShownState[]).includes(state);
}

/** How a paused run with a question of an agent is shown. Its state is `paused`. */
export const WAITS_FOR_ANSWER = 'waiting for an answer';
export type ShownState = TaskState | typeof WAITS_FOR_ANSWER;

/** Returns the state of a run as people see it. `question`: the open question of an agent. */
export function shownStateOf({ state, question }: { state: TaskState; question: unknown }): ShownState {
  return state === 'paused' && question ? WAITS_FOR_ANSWER : state;
}

/** Returns whether a callback reports this state, if the task has a `callback_url`. */
export function isReportedByCallback(state: TaskState): state is CallbackState {
  return (CALLBACK_STATES as readonly TaskState[]).includes(state);
}

/**
 * Returns the state that a trigger leads to, or null if it changes nothing or is not allowed. `pausedFrom` is the state
 * that a paused run was paused from; it is used only for `continued`.
 */
export function nextState(
  state: TaskState,
  trigger: TransitionTrigger,
  pausedFrom: ActiveState | null,
): TaskState | null {
  const next = TRANSITIONS[state][trigger];
  if (next === undefined) return null;
  return next === 'paused_from' ? pausedFrom : next;
}

export const STEP_STATUSES = ['pending', 'running', 'completed', 'failed', 'skipped', 'cancelled'] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];

/** Codes in `errors`: why a run failed, or what a person must know about it. */
export const RUN_ERROR_CODES = [
  'step_failed',
  'step_timed_out',
  'planning_failed',
  'run_timed_out',
  'engine_timed_out',
  'engine_failed',
] as const;
export type RunErrorCode = (typeof RUN_ERROR_CODES)[number];
