/** Waits between the attempts of a task callback, in milliseconds (docs/callbacks.md). */
const CALLBACK_WAITS_MS = [1_000, 4_000] as const;

/**
 * Waits between the attempts of a webhook delivery, in milliseconds: 1 min, 5 min, 30 min, 2 h, 12 h
 * (docs/webhooks.md).
 */
const DELIVERY_WAITS_MS = [60_000, 300_000, 1_800_000, 7_200_000, 43_200_000] as const;

/** Automatic attempts of a webhook delivery, the first one included. */
export const DELIVERY_ATTEMPTS = DELIVERY_WAITS_MS.length + 1;

/**
 * Returns the wait after failure number `failures` (counted from 1) until the next automatic attempt of a delivery, in
 * milliseconds; null if there is none.
 */
export function deliveryWaitMs(failures: number): number | null {
  return DELIVERY_WAITS_MS[failures - 1] ?? null;
}

/** Attempts of a task callback in total (docs/callbacks.md). */
export const CALLBACK_ATTEMPTS = CALLBACK_WAITS_MS.length + 1;

/**
 * Returns the wait after failed attempt `attempt` (counted from 1) until the next callback attempt, in milliseconds;
 * null if there is none.
 */
export function callbackWaitMs(attempt: number): number | null {
  return CALLBACK_WAITS_MS[attempt - 1] ?? null;
}
