/** Retry policy of a step. Times in milliseconds. */
export type StepRetry = {
  maximum_attempts: number;
  initial_interval_ms: number;
  backoff_coefficient: number;
  maximum_interval_ms: number;
};

/** One planned step. `name` is unique within the plan. `after` contains names of other steps. */
export type PlannedStep = {
  id: string;
  name: string;
  agent: string;
  after: string[];
  time_limit_ms: number;
  retry: StepRetry;
  /** Set if it differs from the backend of the plan. */
  backend?: BackendName;
  /** The work of the step, if a planner described it. */
  task?: string;
  /** What people have answered when the step escalated in earlier runs, oldest first. */
  answers?: StepAnswer[];
};

/** A person's answer to an escalation. `question` is the reason of the escalation, `by` the label of the person. */
export type StepAnswer = { question: string; text: string; by: string };

/**
 * What runs a step: a scripted simulation, a model in the service's own loop, a remote agent that speaks A2A, or a
 * program that speaks JSON lines.
 */
export const BACKENDS = ['rehearsal', 'model', 'a2a', 'command'] as const;
export type BackendName = (typeof BACKENDS)[number];

/** The plan of a run: its steps with agents and order, their backend, and the time limit without pauses. */
export type Plan = { backend: BackendName; steps: PlannedStep[]; run_time_limit_ms: number };

/** Returns the backend of a step. */
export function backendOf(plan: Plan, step: PlannedStep): BackendName {
  return step.backend ?? plan.backend;
}

/** Returns the names of the steps before a step, direct and indirect, in the order of the plan. */
export function stepsBefore({ steps }: Plan, step: PlannedStep): string[] {
  const before = new Set(step.after);
  for (const { name, after } of steps.toReversed()) {
    if (before.has(name)) for (const one of after) before.add(one);
  }
  return steps.map(({ name }) => name).filter((name) => before.has(name));
}

/** Returns the wait after failed attempt `attempt` (from 1), in milliseconds; null if there is no further attempt. */
export function stepWaitMs(retry: StepRetry, attempt: number): number | null {
  if (attempt >= retry.maximum_attempts) return null;
  const wait = retry.initial_interval_ms * retry.backoff_coefficient ** (attempt - 1);
  return Math.min(wait, retry.maximum_interval_ms);
}
