import type { BackendName } from '../../domain/plan.ts';
import type { StepBackend } from './backend.ts';
import { rehearsalBackend } from './rehearsal.ts';

/** The seam where models stand beside the rehearsal: one line for each backend. */
export const stepBackends: Readonly<Record<BackendName, StepBackend>> = { rehearsal: rehearsalBackend };
