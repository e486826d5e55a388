import type { BackendName } from '../../domain/tasks/plan.ts';
import type { StepBackend } from './backend.ts';
import { modelBackend } from './model.ts';
import { rehearsalBackend } from './rehearsal.ts';
import { a2aBackend, commandBackend } from './remote.ts';

/** The backends that can run a step. */
export const stepBackends: Readonly<Record<BackendName, StepBackend>> = {
  rehearsal: rehearsalBackend,
  model: modelBackend,
  a2a: a2aBackend,
  command: commandBackend,
};
