import {
  ActivityFailure,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { RehearsalActivities } from '../../activities/rehearse.ts';
import { STEP_TIME_LIMIT_MS } from '../../domain/limits.ts';
import type { StepOutcome, StepWork } from '../../domain/step-work.ts';
import { queuesBeside } from '../messages.ts';

/**
 * A rehearsed step shorter than this runs in the worker that runs the workflow, without a way over a task
 * queue. It must stay well under the workflow task's time limit of 10 s.
 */
const LOCAL_MS = 250;

const local = proxyLocalActivities<RehearsalActivities>({
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '100 ms', maximumInterval: '5 s' },
});

// A crashed worker is noticed by its missing heartbeats, and its work is done again elsewhere: that is what this
// policy retries. A step that fails by its own doing answers so, and the run's own policy decides.
const elsewhere = proxyActivities<RehearsalActivities>({
  heartbeatTimeout: '5 s',
  scheduleToCloseTimeout: STEP_TIME_LIMIT_MS,
  retry: { initialInterval: '500 ms', maximumInterval: '5 s' },
});

/** Plays a step as `metadata.rehearsal` says: scripted, free, and labelled as a rehearsal. */
export async function rehearsalBackend(
  work: StepWork,
  { isAlone }: { isAlone: boolean },
): Promise<StepOutcome> {
  const stepMs = work.rehearsal?.step_ms ?? 0;
  const summary = `${work.step.name} by ${work.step.agent} (rehearsal)`;
  try {
    if (isAlone && stepMs < LOCAL_MS) return await local.rehearse.executeWithOptions({ summary }, [work]);
    return await elsewhere.rehearse.executeWithOptions(
      {
        summary,
        taskQueue: queuesBeside(workflowInfo().taskQueue).agents,
        scheduleToCloseTimeout: work.step.time_limit_ms,
      },
      [work],
    );
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    if (error.cause instanceof TimeoutFailure) {
      return { kind: 'failed', timedOut: true, message: `took longer than ${work.step.time_limit_ms} ms` };
    }
    return { kind: 'failed', message: error.cause?.message ?? 'the rehearsal broke off' };
  }
}
