import type { PlannedStep } from './plan.ts';
import type { Rehearsal } from './rehearsal.ts';
import type { StepResult } from './run-state.ts';

/** What a backend is asked to do. `number` is the step's place in the plan, `attempt` counts, both from 1. */
export type StepWork = {
  executionId: string;
  step: PlannedStep;
  number: number;
  attempt: number;
  rehearsal: Rehearsal | null;
};

/**
 * How the work on a step ended. `failed` may be tried again, `unrecoverable` may not, `escalated` hands the
 * run to a human.
 */
export type StepOutcome =
  | { kind: 'completed'; result: StepResult }
  | { kind: 'failed'; message: string; timedOut?: boolean }
  | { kind: 'unrecoverable'; message: string }
  | { kind: 'escalated'; reason: string };
