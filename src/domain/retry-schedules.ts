/** Waits between the attempts of a task callback, in milliseconds (specification 6.4, area A). */
const CALLBACK_WAITS_MS = [1_000, 4_000] as const;

/** Attempts of a task callback in total (specification 8). */
export const CALLBACK_ATTEMPTS = CALLBACK_WAITS_MS.length + 1;

/**
 * When the next callback attempt is due, in milliseconds after the failure of attempt `attempt`
 * (counted from 1); null when none follows.
 */
export function callbackWaitMs(attempt: number): number | null {
  return CALLBACK_WAITS_MS[attempt - 1] ?? null;
}
