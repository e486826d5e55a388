import type { BackendName } from '../../domain/tasks/plan.ts';
import type { StepBackend } from './backend.ts';
import { modelBackend } from './model.ts';
import { rehearsalBackend } from './rehearsal.ts';
import { a2aBackend, commandBackend } from './remote.ts';

/** The seam where models and remote agents stand beside the rehearsal: one line for each backend. */
export const stepBackends: Readonly<Record<BackendName, StepBackend>> = {
  rehearsal: rehearsalBackend,
  model: modelBackend,
  a2a: a2aBackend,
  command: commandBackend,
};
