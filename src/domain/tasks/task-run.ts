import type { Progress, RunView, Step, Usage } from './run-schemas.ts';

/** Types of tasks (docs/http-api.md). The type selects the team of agents. */
export const TASK_TYPES = ['feature', 'bug', 'spec', 'chore'] as const;
export type TaskType = (typeof TASK_TYPES)[number];
export const DEFAULT_TASK_TYPE: TaskType = 'feature';

/** Adds two usages. If only one of them has a cost, the sum has that cost. */
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

/** Returns the view of a run before it starts. */
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

/** Counts the progress of the steps. A run that ended early keeps the share that was completed. */
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

/** Returns the name of a run's room on the live channel (docs/channel.md). */
export function roomOf(executionId: string): string {
  return `workflow:${executionId}`;
}
