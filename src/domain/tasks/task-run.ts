import type { ActiveState, TaskState } from './task-states.ts';

/** What a caller may ask for (docs/http-api.md); it selects the team of agents. */
export const TASK_TYPES = ['feature', 'bug', 'spec', 'chore'] as const;
export type TaskType = (typeof TASK_TYPES)[number];
export const DEFAULT_TASK_TYPE: TaskType = 'feature';

export const STEP_STATUSES = ['pending', 'running', 'completed', 'failed', 'skipped', 'cancelled'] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];

/** What models counted: tokens, calls that were answered, and US dollars where the catalogue knows the price. */
export type Usage = { input_tokens: number; output_tokens: number; model_calls?: number; cost_usd?: number };

/** Both together. A cost that only one of them knows is the sum's. */
export function addUsage(one: Usage | null, other: Usage | null): Usage | null {
  if (one === null || other === null) return one ?? other;
  const sum = (member: 'model_calls' | 'cost_usd') =>
    one[member] === undefined && other[member] === undefined
      ? {}
      : { [member]: (one[member] ?? 0) + (other[member] ?? 0) };
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    ...sum('model_calls'),
    ...sum('cost_usd'),
  };
}

/** One entry of `errors`: what ended a run, or what a person must know of it. */
export const RUN_ERROR_CODES = [
  'step_failed',
  'step_timed_out',
  'planning_failed',
  'run_timed_out',
  'engine_timed_out',
  'engine_failed',
] as const;
export type RunErrorCode = (typeof RUN_ERROR_CODES)[number];
export type RunError = {
  code: RunErrorCode;
  message: string;
  step: string | null;
  agent: string | null;
  at: string;
};

/** One step of a run as the detail shows it. Times are ISO 8601 UTC with milliseconds. */
export type Step = {
  id: string;
  name: string;
  agent: string;
  status: StepStatus;
  /** 0 before the step began, then the number of the attempt that runs or ran last. */
  attempt: number;
  started_at: string | null;
  completed_at: string | null;
  duration_ms: number | null;
  summary: string | null;
  usage: Usage | null;
  error: RunError | null;
  /** True where an earlier run completed the step, and this one took its result over. */
  kept?: true;
};

export type Progress = {
  /** 0–100, whole; 100 only when all steps are completed. */
  percent: number;
  steps_completed: number;
  steps_total: number;
  current_step: string | null;
};

/** Why agents asked for a human, which ends a run as `escalated`. */
export type Escalation = { reason: string; step: string | null; agent: string | null; at: string };

/**
 * The moving part of a run's detail: what the workflow answers to the `detail` query and what the stored
 * projection holds, member for member the same.
 */
export type RunView = {
  state: TaskState;
  /** The state that Continue leads back to; null unless paused. */
  paused_from: ActiveState | null;
  progress: Progress;
  steps: Step[];
  started_at: string | null;
  paused_at: string | null;
  paused_by: string | null;
  /** Milliseconds spent paused so far, the pause that still holds not included. */
  paused_ms: number;
  completed_at: string | null;
  duration_ms: number | null;
  output: Record<string, unknown> | null;
  errors: RunError[];
  escalation: Escalation | null;
  /** What an agent asks, while the run is paused for the answer. */
  question: Question | null;
  /** `seq` of the last feed event that this view already includes. */
  last_seq: number;
};

/** The view of a run before its runner started. */
export function initialView(): RunView {
  return {
    state: 'initializing',
    paused_from: null,
    progress: progressOf([]),
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
    question: null,
    last_seq: 0,
  };
}

/** Progress counted from the steps: a run that ended early keeps the share that was completed. */
export function progressOf(steps: readonly Step[]): Progress {
  const completed = steps.filter((step) => step.status === 'completed').length;
  const current = steps.find((step) => step.status === 'running');
  return {
    percent: steps.length === 0 ? 0 : Math.floor((100 * completed) / steps.length),
    steps_completed: completed,
    steps_total: steps.length,
    current_step: current?.name ?? null,
  };
}

/** The name of a run's live channel (docs/channel.md). */
export function roomOf(executionId: string): string {
  return `workflow:${executionId}`;
}

/** What an agent asks a person, while its run is paused for the answer. `step` and `agent` are names; `at` is ISO 8601. */
export type Question = { step: string; agent: string; text: string; at: string };
