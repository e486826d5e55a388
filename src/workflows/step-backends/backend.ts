import type { BackendName } from '../../domain/plan.ts';
import type { StepOutcome, StepWork } from '../../domain/step-work.ts';
import { rehearsalBackend } from './rehearsal.ts';

/**
 * Does the work of one attempt of a step, as workflow code: whatever leaves the workflow is an activity.
 * Answers how the work ended; throws only when it was cancelled.
 *
 * Local activities are only for a step that works alone (`isAlone`): of two that are in flight together a replay
 * may learn in one activation where the first execution learnt in two, and then what follows gets other numbers.
 */
export type StepBackend = (work: StepWork, circumstances: { isAlone: boolean }) => Promise<StepOutcome>;

/** The seam where models stand beside the rehearsal: one line for each backend. */
export const stepBackends: Readonly<Record<BackendName, StepBackend>> = { rehearsal: rehearsalBackend };
