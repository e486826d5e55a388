import { setTimeout as wait } from 'node:timers/promises';
import { ApplicationFailure } from '@temporalio/activity';
import type { Database } from '../../database/database.ts';
import { mayContinue } from '../../database/tasks/step-results.ts';
import { MODEL_FAILURES } from '../../domain/agents/agent-work.ts';
import { retryUntilCancelled } from '../retry-on-outage.ts';

const POLL_MS = 1_000;

/**
 * Waits while the run is paused in the Temporal Web UI, and while PostgreSQL is unavailable. The workflow of its agent
 * continues during such a pause and does not learn of it.
 * @throws ApplicationFailure if the run has ended, so that no further calls cost money
 * @throws AbortError or the reason of `signal` if it aborts the wait
 */
export async function waitUntilAllowed(
  database: Database,
  executionId: string,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const answer = await retryUntilCancelled(() => mayContinue(database, executionId), signal);
    if (answer === 'over') throw ApplicationFailure.nonRetryable('the run has ended', MODEL_FAILURES.over);
    if (answer === 'yes') return;
    await wait(POLL_MS, undefined, { signal });
  }
}
