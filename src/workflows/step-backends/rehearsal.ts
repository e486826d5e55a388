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
import { siblingQueues } from '../../temporal/task-messages.ts';
import type { StepBackend, Dependencies } from './backend.ts';

/**
 * A simulated step shorter than this, in milliseconds, runs in the worker of the workflow, without a task queue. It
 * must stay well below the workflow task's time limit of 10 s.
 */
const SHORT_MS = 250;

const { rehearseBriefly } = proxyLocalActivities<RehearsalActivities>({
  startToCloseTimeout: '10 s',
  retry: { initialInterval: '100 ms', maximumInterval: '5 s' },
});

// Missing heartbeats reveal a crashed worker, and another worker repeats the work: that is what this policy retries. A
// step that fails returns its failure, and the run's own policy decides.
const { rehearse } = proxyActivities<RehearsalActivities>({
  heartbeatTimeout: '5 s',
  scheduleToCloseTimeout: STEP_TIME_LIMIT_MS,
  retry: { initialInterval: '500 ms', maximumInterval: '5 s' },
});

/** Simulates steps as `metadata.rehearsal` describes: scripted, without cost, and labelled as a simulation. */
export const rehearsalBackend: StepBackend = {
  async work(work: StepWork, dependencies: Dependencies): Promise<StepOutcome> {
    const { step } = work;
    const answer = asksPerson(work) ? await dependencies.ask(work.rehearsal?.ask?.question ?? '') : null;
    const options = {
      summary: `${step.name} by ${step.agent} (rehearsal)`,
      taskQueue: siblingQueues(workflowInfo().taskQueue).agents,
      scheduleToCloseTimeout: step.time_limit_ms,
    };
    try {
      return await rehearse.executeWithOptions(options, [answer ? { ...work, answer } : work]);
    } catch (error) {
      if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
      if (error.cause instanceof TimeoutFailure) {
        return { kind: 'failed', timedOut: true, message: `took longer than ${step.time_limit_ms} ms` };
      }
      return { kind: 'failed', message: error.cause?.message ?? 'the simulation was interrupted' };
    }
  },
  short: {
    fits: (work) => !asksPerson(work) && durationOf(work) < Math.min(SHORT_MS, work.step.time_limit_ms),
    ms: durationOf,
    work: rehearseBriefly,
  },
};

/** Returns the scripted duration of a step, in milliseconds. */
function durationOf({ rehearsal }: StepWork): number {
  return rehearsal?.step_ms ?? 0;
}

/** Returns whether the script makes this step ask a person. It asks once, in the first attempt. */
function asksPerson({ rehearsal, number, attempt }: StepWork): boolean {
  return rehearsal?.ask?.step === number && attempt === 1;
}
