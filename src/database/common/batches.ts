import { setTimeout as sleep } from 'node:timers/promises';
import { NIL } from './ids.ts';

/** Rows that one transaction of a large change changes. */
export const BATCH_ROWS = 200;

/** Bytes of payloads that one statement reads; a larger payload is read alone. */
export const PAYLOAD_BYTES = 4 * 1_048_576;

/**
 * How long a large change rests after each part, in durations of this part. With a request that waits for the change, it
 * takes at most half of what the database can write, in the background a quarter. The rest is for the statements of others.
 */
export const REST = { whileRequestWaits: 1, inBackground: 3 } as const;

/** Maximum rest, in milliseconds: a part that waited for a lock took long, but wrote little. */
const LONGEST_REST_MS = 1_000;

export type Rest = (typeof REST)[keyof typeof REST];

/** Makes one part of a large change, and then rests. */
export async function makePart<T>(change: () => Promise<T>, rest: Rest): Promise<T> {
  const begun = performance.now();
  const result = await change();
  await sleep(restAfter(performance.now() - begun, rest));
  return result;
}

/** Returns the rest after a part that took `tookMs`, in milliseconds. */
export function restAfter(tookMs: number, rest: Rest): number {
  return Math.min(LONGEST_REST_MS, rest * tookMs);
}

/**
 * Changes rows in parts, in the order of their ids. `change` changes the next rows after an id and returns the last id; null
 * if there are none. Begins no part after `until`, a time of `performance.now()`.
 */
export async function changeInBatches(
  change: (after: string) => Promise<string | null>,
  rest: Rest,
  until = Number.POSITIVE_INFINITY,
): Promise<void> {
  let after: string | null = NIL;
  while (after !== null && performance.now() < until) {
    const from: string = after;
    after = await makePart(() => change(from), rest);
  }
}
