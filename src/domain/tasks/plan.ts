/** How often and after which waits a failed step is tried again. Times in milliseconds. */
export type StepRetry = {
  maximum_attempts: number;
  initial_interval_ms: number;
  backoff_coefficient: number;
  maximum_interval_ms: number;
};

/** One step as planning wrote it. `name` is unique within the plan; `after` holds names of other steps. */
export type PlannedStep = {
  id: string;
  name: string;
  agent: string;
  after: string[];
  time_limit_ms: number;
  retry: StepRetry;
  /** Where it is another one than the plan's. */
  backend?: BackendName;
  /** What the step is to do, where a planner wrote that. */
  task?: string;
};

/**
 * What does the work of a step: a scripted player, a model in our own loop, an agent at an address that speaks A2A,
 * a command that speaks JSON lines.
 */
export const BACKENDS = ['rehearsal', 'model', 'a2a', 'command'] as const;
export type BackendName = (typeof BACKENDS)[number];

/** What planning decided: who does what after what, by which backend, within which time without pauses. */
export type Plan = { backend: BackendName; steps: PlannedStep[]; run_time_limit_ms: number };

/** Who does a step's work. */
export function backendOf(plan: Plan, step: PlannedStep): BackendName {
  return step.backend ?? plan.backend;
}

/** The wait before attempt `attempt + 1` after attempt `attempt` (from 1) failed; null when there is none. */
export function stepWaitMs(retry: StepRetry, attempt: number): number | null {
  if (attempt >= retry.maximum_attempts) return null;
  const wait = retry.initial_interval_ms * retry.backoff_coefficient ** (attempt - 1);
  return Math.min(wait, retry.maximum_interval_ms);
}
