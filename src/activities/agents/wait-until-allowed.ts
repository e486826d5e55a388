import { setTimeout as wait } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/activity';
import type { Database } from '../../database/database.ts';
import { mayContinue } from '../../database/tasks/step-results.ts';
import { MODEL_FAILURES } from '../../domain/agents/agent-work.ts';

const POLL_MS = 1_000;

/**
 * Waits while the run is paused in the Temporal Web UI. The workflow of its agent continues there and does not learn of
 * the pause.
 * @throws ApplicationFailure if the run has ended, so that no further calls cost money
 * @throws AbortError if `signal` aborts the wait
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
