import type { ArtifactInfo } from './artifact.ts';
import type { PlannedStep } from './plan.ts';
import type { Rehearsal } from './rehearsal.ts';
import type { Answer, StepResult } from './run-state.ts';
import type { Usage } from './run-schemas.ts';

/** Input of a backend. `number` is the position of the step in the plan; `number` and `attempt` count from 1. */
export type StepWork = {
  executionId: string;
  step: PlannedStep;
  number: number;
  attempt: number;
  rehearsal: Rehearsal | null;
  /** A person's answer to the question of the simulated step. */
  answer?: Answer;
};

/** Input of an agent. `earlier`: names of the steps before this one, whose results the agent gets. */
export type AgentWork = Omit<StepWork, 'rehearsal'> & { earlier: string[] };

/**
 * How the work on a step ended. `failed` may be retried, `unrecoverable` may not, `escalated` hands the run to a human.
 * `usage` and `artifacts` are those of the attempt, however it ended.
 */
export type StepOutcome = (
  | { kind: 'completed'; result: StepResult }
  | { kind: 'failed'; message: string; timedOut?: boolean }
  | { kind: 'unrecoverable'; message: string }
  | { kind: 'escalated'; reason: string }
) & { usage?: Usage | null; artifacts?: ArtifactInfo[] };
