import { setTimeout as wait } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/activity';
import type { Database } from '../../database/database.ts';
import { mayContinue } from '../../database/tasks/step-results.ts';
import { MODEL_FAILURES } from '../../domain/agents/agent-work.ts';

const POLL_MS = 1_000;

/**
 * Waits while the run is paused in the Temporal Web UI: the workflow of its agent goes on there, and is not told.
 * @throws ApplicationFailure where the run has ended: nothing is paid for it any more
 * @throws AbortError when `signal` aborts the wait
 */
export async function waitUntilAllowed(
  database: Database,
  executionId: string,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const answer = await mayContinue(database, executionId);
    if (answer === 'over') throw ApplicationFailure.nonRetryable('the run has ended', MODEL_FAILURES.over);
    if (answer === 'yes') return;
    await wait(POLL_MS, undefined, { signal });
  }
}
