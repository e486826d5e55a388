import type { ArtifactNote } from './artifact.ts';
import type { PlannedStep } from './plan.ts';
import type { Rehearsal } from './rehearsal.ts';
import type { Answer, StepResult } from './run-state.ts';
import type { Usage } from './task-run.ts';

/** What a backend is asked to do. `number` is the step's place in the plan, `attempt` counts, both from 1. */
export type StepWork = {
  executionId: string;
  step: PlannedStep;
  number: number;
  attempt: number;
  rehearsal: Rehearsal | null;
  /** What a person answered to the question that the rehearsed step has asked. */
  answer?: Answer;
};

/** What an agent is asked to do. `earlier`: names of the steps that led here, whose results it is told. */
export type AgentWork = Omit<StepWork, 'rehearsal'> & { earlier: string[] };

/**
 * How the work on a step ended. `failed` may be tried again, `unrecoverable` may not, `escalated` hands the
 * run to a human. `usage` is what the attempt took, `artifacts` what it left behind, however it ended.
 */
export type StepOutcome = (
  | { kind: 'completed'; result: StepResult }
  | { kind: 'failed'; message: string; timedOut?: boolean }
  | { kind: 'unrecoverable'; message: string }
  | { kind: 'escalated'; reason: string }
) & { usage?: Usage | null; artifacts?: ArtifactNote[] };
