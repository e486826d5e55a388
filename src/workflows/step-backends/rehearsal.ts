import {
  ActivityFailure,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { RehearsalActivities } from '../../activities/rehearse.ts';
import { STEP_TIME_LIMIT_MS } from '../../domain/common/limits.ts';
import type { StepOutcome, StepWork } from '../../domain/tasks/step-work.ts';
import { queuesBeside } from '../../temporal/task-messages.ts';
import type { StepBackend, Dependencies } from './backend.ts';

/**
 * A rehearsed step shorter than this runs in the worker that runs the workflow, without a way over a task
 * queue. It must stay well under the workflow task's time limit of 10 s.
 */
const BRIEF_MS = 250;

const { rehearseBriefly } = proxyLocalActivities<RehearsalActivities>({
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '100 ms', maximumInterval: '5 s' },
});

// A crashed worker is noticed by its missing heartbeats, and its work is done again elsewhere: that is what this
// policy retries. A step that fails by its own doing answers so, and the run's own policy decides.
const { rehearse } = proxyActivities<RehearsalActivities>({
  heartbeatTimeout: '5 s',
  scheduleToCloseTimeout: STEP_TIME_LIMIT_MS,
  retry: { initialInterval: '500 ms', maximumInterval: '5 s' },
});

/** Plays steps as `metadata.rehearsal` says: scripted, free, and labelled as a rehearsal. */
export const rehearsalBackend: StepBackend = {
  async work(work: StepWork, around: Dependencies): Promise<StepOutcome> {
    const { step } = work;
    const answer = asksOf(work) ? await around.ask(work.rehearsal?.ask?.question ?? '') : null;
    const options = {
      summary: `${step.name} by ${step.agent} (rehearsal)`,
      taskQueue: queuesBeside(workflowInfo().taskQueue).agents,
      scheduleToCloseTimeout: step.time_limit_ms,
    };
    try {
      return await rehearse.executeWithOptions(options, [answer ? { ...work, answer } : work]);
    } catch (error) {
      if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
      if (error.cause instanceof TimeoutFailure) {
        return { kind: 'failed', timedOut: true, message: `took longer than ${step.time_limit_ms} ms` };
      }
      return { kind: 'failed', message: error.cause?.message ?? 'the rehearsal broke off' };
    }
  },
  brief: {
    fits: (work) =>
      !asksOf(work) && (work.rehearsal?.step_ms ?? 0) < Math.min(BRIEF_MS, work.step.time_limit_ms),
    work: rehearseBriefly,
  },
};

/** Whether the script lets this step ask a person, which it does once and not again in later attempts. */
function asksOf({ rehearsal, number, attempt }: StepWork): boolean {
  return rehearsal?.ask?.step === number && attempt === 1;
}
