/** Waits between the attempts of a task callback, in milliseconds (docs/callbacks.md). */
const CALLBACK_WAITS_MS = [1_000, 4_000] as const;

/**
 * Waits between the attempts of a webhook delivery, in milliseconds: 1 min, 5 min, 30 min, 2 h, 12 h
 * (docs/webhooks.md).
 */
const DELIVERY_WAITS_MS = [60_000, 300_000, 1_800_000, 7_200_000, 43_200_000] as const;

/** Attempts of a webhook delivery by the schedule alone. */
export const DELIVERY_ATTEMPTS = DELIVERY_WAITS_MS.length + 1;

/**
 * When the next automatic attempt of a delivery is due, in milliseconds after its failure number `failures` (counted
 * from 1); null when none follows.
 */
export function deliveryWaitMs(failures: number): number | null {
  return DELIVERY_WAITS_MS[failures - 1] ?? null;
}

/** Attempts of a task callback in total (docs/callbacks.md). */
export const CALLBACK_ATTEMPTS = CALLBACK_WAITS_MS.length + 1;

/**
 * When the next callback attempt is due, in milliseconds after the failure of attempt `attempt`
 * (counted from 1); null when none follows.
 */
export function callbackWaitMs(attempt: number): number | null {
  return CALLBACK_WAITS_MS[attempt - 1] ?? null;
}
