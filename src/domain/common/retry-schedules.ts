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

/**
 * Returns how many automatic attempts of a delivery are left, by the time from the start of the last one to the next one in
 * milliseconds: the wait between them and the duration of the last one, which is shorter than any wait. Null if the time
 * is not one of the schedule. The number of all attempts says less, since a recovery restarts the schedule.
 */
export function deliveryAttemptsLeft(untilNextMs: number): number | null {
  const index = DELIVERY_WAITS_MS.findLastIndex((waitMs) => waitMs <= untilNextMs);
  const waitMs = DELIVERY_WAITS_MS[index];
  if (waitMs === undefined || untilNextMs - waitMs >= DELIVERY_WAITS_MS[0]) return null;
  return DELIVERY_WAITS_MS.length - index;
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

const FIRST_PLACE_WAIT_MS = 1_000;

/**
 * Returns the wait after try number `tries` (counted from 1) to get a place for an attempt until the next try, in
 * milliseconds: 1 s, doubled with each try up to `mostMs`, less a random part of up to a half, so that attempts that
 * found no place together do not return together. `random` is at least 0 and below 1.
 */
export function placeWaitMs(tries: number, mostMs: number, random: number): number {
  const waitMs = Math.min(mostMs, FIRST_PLACE_WAIT_MS * 2 ** (tries - 1));
  return Math.round(waitMs * (1 - random / 2));
}
