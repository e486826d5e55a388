import assert from 'node:assert/strict';
import { eventually } from './eventually.ts';

/**
 * Sends an action to a run, again after each 503, as a caller does: Temporal has not confirmed it in time, and a repeated
 * action changes nothing. @throws if the answer is not 202; 409 is accepted only from a run that `mayHaveEnded`, or that may
 * have ended since an unconfirmed request
 */
export async function steerRun(
  send: () => Promise<{ status: number }>,
  { mayHaveEnded = false } = {},
): Promise<void> {
  let mayEnd = mayHaveEnded;
  const status = await eventually('the action is confirmed', async () => {
    const answered = await send();
    if (answered.status !== 503) return answered.status;
    mayEnd = true;
    return null;
  });
  assert.ok(status === 202 || (status === 409 && mayEnd), `the action got ${status}`);
}
