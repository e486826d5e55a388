import { setTimeout as wait } from 'node:timers/promises';
import { printOpenWorkflows } from './open-workflows.ts';

/**
 * How long tests wait for a condition, in milliseconds: longer than a slow machine under load needs, and shorter than
 * mocha's timeout, so that a failure names the condition.
 */
export const WAIT_TIMEOUT_MS = 90_000;

/** A longer wait is reported, even if the condition becomes true, with what Temporal waited for. */
const LONG_WAIT_MS = 20_000;
const longWaits: Promise<string>[] = [];

/** Returns the long waits of {@link eventually} since the last call, one text for each. */
export async function takeLongWaits(): Promise<string[]> {
  return await Promise.all(longWaits.splice(0));
}

/** Waits until `probe` returns something other than null or false and returns it. @throws with `what` after `withinMs` */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | null | false> | T | null | false,
  withinMs = WAIT_TIMEOUT_MS,
): Promise<T> {
  const begun = Date.now();
  let isReported = false;
  for (;;) {
    const found = await probe();
    if (found !== null && found !== false) return found;
    const waitedMs = Date.now() - begun;
    if (waitedMs > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`);
    if (waitedMs > LONG_WAIT_MS && !isReported) {
      isReported = true;
      longWaits.push(printOpenWorkflows().then((open) => `waited ${LONG_WAIT_MS / 1_000} s: ${what}${open}`));
    }
    await wait(20);
  }
}
