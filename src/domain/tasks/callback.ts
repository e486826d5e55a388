import type { RunView } from './run-schemas.ts';

/** What an attempt was made for: the schedule, or a request to send a failed callback again. */
export const CALLBACK_TRIGGERS = ['automatic', 'manual'] as const;
export type CallbackTrigger = (typeof CALLBACK_TRIGGERS)[number];

/** Returns the trigger of an attempt by the manual retry that it is made for. */
export function triggerOf(retryId: string | null): CallbackTrigger {
  return retryId === null ? 'automatic' : 'manual';
}

export const CALLBACK_STATUSES = ['none', 'pending', 'delivered', 'failed'] as const;
export type CallbackStatus = (typeof CALLBACK_STATUSES)[number];

/** Returns the status of a run's callback. A failed callback is pending again during a manual retry. */
export function callbackStatusOf(row: {
  callback_status: CallbackStatus;
  callback_retry_id?: string | null | undefined;
}): CallbackStatus {
  return row.callback_retry_id ? 'pending' : row.callback_status;
}

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
