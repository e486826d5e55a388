import type { RunView } from './run-schemas.ts';

/**
 * Returns the body of a task result callback (docs/callbacks.md), the text that is stored, signed and sent. A run that
 * ended without a result has an empty `output`.
 */
export function callbackBody(executionId: string, view: Omit<RunView, 'last_seq'>): string {
  return JSON.stringify({
    execution_id: executionId,
    status: view.state,
    duration_ms: view.duration_ms ?? 0,
    started_at: view.started_at,
    completed_at: view.completed_at,
    output: view.output ?? {},
    errors: view.errors,
  });
}
