import { setTimeout as sleep } from 'node:timers/promises';
import { NIL } from './ids.ts';

/** Rows that one transaction of a large change changes. */
export const BATCH_ROWS = 200;

/**
 * Makes one part of a large change, and then waits as long as it took. So a large change takes at most half of what the
 * database can write, and statements of others do not wait for it.
 */
export async function makePart<T>(change: () => Promise<T>): Promise<T> {
  const begun = performance.now();
  const result = await change();
  await sleep(performance.now() - begun);
  return result;
}

/**
 * Changes rows in parts, in the order of their ids. `change` changes the next rows after an id and returns the last id; null
 * if there are none.
 */
export async function changeInBatches(change: (after: string) => Promise<string | null>): Promise<void> {
  let after: string | null = NIL;
  while (after !== null) {
    const from: string = after;
    after = await makePart(() => change(from));
  }
}
