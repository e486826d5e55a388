import { setTimeout as wait } from 'node:timers/promises';

/**
 * How long tests wait for a condition, in milliseconds: longer than a slow machine under load needs, and shorter than
 * mocha's timeout, so that a failure names the condition.
 */
export const WAIT_TIMEOUT_MS = 45_000;

/** Waits until `probe` returns something other than null or false and returns it. @throws with `what` after `withinMs` */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | null | false> | T | null | false,
  withinMs = WAIT_TIMEOUT_MS,
): Promise<T> {
  const until = Date.now() + withinMs;
  for (;;) {
    const found = await probe();
    if (found !== null && found !== false) return found;
    if (Date.now() > until) throw new Error(`not within ${withinMs} ms: ${what}`);
    await wait(20);
  }
}
