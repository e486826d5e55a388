import type { BackendName } from '../../domain/plan.ts';
import type { StepBackend } from './backend.ts';
import { modelBackend } from './model.ts';
import { rehearsalBackend } from './rehearsal.ts';

/** The seam where models and remote agents stand beside the rehearsal: one line for each backend. */
export const stepBackends: Readonly<Partial<Record<BackendName, StepBackend>>> = {
  rehearsal: rehearsalBackend,
  model: modelBackend,
};
