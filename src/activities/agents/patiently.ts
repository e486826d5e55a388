import { setTimeout as wait } from 'node:timers/promises';

const TRIES = 40;
const PAUSE_MS = 500;

/**
 * Writes what has been paid for, again for 20 s where the database does not take it: to fail would mean to ask and
 * pay once more.
 * @throws what `write` throws last, or AbortError when `signal` aborts the wait
 */
export async function patiently(signal: AbortSignal, write: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await write();
    } catch (error) {
      if (tries >= TRIES) throw error;
      await wait(PAUSE_MS, undefined, { signal });
    }
  }
}
