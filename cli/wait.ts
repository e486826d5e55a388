import { setTimeout as sleep } from 'node:timers/promises';
import { isTerminal } from '../src/domain/tasks/task-states.ts';
import { CliError, EXIT, RetryLater } from './exit-codes.ts';
import type { Api } from './http.ts';
import type { Output } from './output.ts';
import type { Detail } from './shapes.ts';

/** How long an unreachable server is retried, in milliseconds. */
export const UNREACHABLE_TIMEOUT_MS = 120_000;
/** Time between the tries, and maximum time that the server may ask to wait, in milliseconds. */
export const RETRY_MS = 1_000;
export const MAX_RETRY_MS = 60_000;

/**
 * Returns the detail of a run when it has ended. Uses `Prefer: wait`, so that the server responds as soon as the
 * state changes. Waits as long as the server says if it limits the rate of requests.
 */
export async function waitForEnd(
  api: Api,
  output: Output,
  id: string,
  patienceMs = UNREACHABLE_TIMEOUT_MS,
): Promise<Detail> {
  let lastHeard = Date.now();
  for (;;) {
    try {
      const run = await api.call<Detail>('GET', `/api/v1/tasks/${id}`, { headers: { prefer: 'wait=30' } });
      if (isTerminal(run.state)) return run;
      lastHeard = Date.now();
    } catch (error) {
      if (error instanceof RetryLater) {
        lastHeard = Date.now();
        await sleep(Math.min(error.retryAfterMs, MAX_RETRY_MS));
        continue;
      }
      if (!(error instanceof CliError) || error.exitCode !== EXIT.unavailable) throw error;
      if (Date.now() - lastHeard >= patienceMs) throw error;
      output.note(`${error.message}; retrying`);
      await sleep(RETRY_MS);
    }
  }
}
