import type { BackendName } from '../../domain/plan.ts';
import type { StepOutcome, StepWork } from '../../domain/step-work.ts';
import { rehearsalBackend } from './rehearsal.ts';

/**
 * Does the work of one attempt of a step, as workflow code: whatever leaves the workflow is an activity.
 * Answers how the work ended; throws only when it was cancelled.
 */
export type StepBackend = (work: StepWork) => Promise<StepOutcome>;

/** The seam where models stand beside the rehearsal: one line for each backend. */
export const stepBackends: Readonly<Record<BackendName, StepBackend>> = { rehearsal: rehearsalBackend };
