import { CancellationScope, condition, sleep } from '@temporalio/workflow';
import { stepWaitMs, type Plan, type PlannedStep } from '../domain/plan.ts';
import type { Rehearsal } from '../domain/rehearsal.ts';
import type { RunState } from '../domain/run-state.ts';
import type { StepOutcome } from '../domain/step-work.ts';
import type { Recorder } from './recorder.ts';
import { stepBackends } from './step-backends/backend.ts';

/** How the steps of a run ended as a whole. */
export type StepsOutcome =
  | { kind: 'completed' }
  | { kind: 'unrecoverable' }
  | { kind: 'escalated'; reason: string };

type StepsOfRun = {
  executionId: string;
  plan: Plan;
  rehearsal: Rehearsal | null;
  state: RunState;
  recorder: Recorder;
};

/**
 * Runs the steps of a plan: each as soon as those it comes after are completed, side by side where the plan
 * allows it, none while the run is paused. The first one that can't be recovered, or that asks for a human,
 * stops the others.
 * @throws CancelledFailure when the scope around it is cancelled
 */
export async function runSteps(run: StepsOfRun): Promise<StepsOutcome> {
  const scope = new CancellationScope();
  const outcome: { first: StepsOutcome } = { first: { kind: 'completed' } };
  const finished = new Map<string, Promise<boolean>>();
  const runOne = async (step: PlannedStep, number: number): Promise<boolean> => {
    const before = await Promise.all(step.after.map((name) => finished.get(name) ?? true));
    if (before.includes(false)) return false;
    const end = await runStep(run, step, number);
    if (end.kind === 'completed') return true;
    if (outcome.first.kind === 'completed') outcome.first = end;
    scope.cancel();
    return false;
  };
  await scope.run(async () => {
    // A plan lists every step behind those it comes after.
    run.plan.steps.forEach((step, index) => finished.set(step.name, runOne(step, index + 1)));
    const ends = await Promise.allSettled(finished.values());
    const broken = ends.find((end) => end.status === 'rejected');
    if (broken && outcome.first.kind === 'completed') throw broken.reason;
  });
  return outcome.first;
}

/** Runs one step, attempt after attempt, as its policy says. */
async function runStep(run: StepsOfRun, step: PlannedStep, number: number): Promise<StepsOutcome> {
  const { state, recorder, executionId, rehearsal } = run;
  for (let attempt = 1; ; attempt += 1) {
    await condition(() => !state.isPaused);
    state.stepStarted(step.id, attempt, Date.now());
    await recorder.flush();
    const work = { executionId, step, number, attempt, rehearsal };
    const outcome = await stepBackends[run.plan.backend](work);
    const end = concludeAttempt(state, step, attempt, outcome);
    if ('retryInMs' in end) {
      await recorder.flush();
      await sleep(end.retryInMs);
    } else {
      return end;
    }
  }
}

/** Notes how an attempt ended; answers how the step ended, or after which wait it is tried again. */
function concludeAttempt(
  state: RunState,
  step: PlannedStep,
  attempt: number,
  outcome: StepOutcome,
): StepsOutcome | { retryInMs: number } {
  const now = Date.now();
  switch (outcome.kind) {
    case 'completed':
      state.stepCompleted(step.id, outcome.result, now);
      return { kind: 'completed' };
    case 'escalated':
      state.stepEscalated(step.id, outcome.reason, now);
      return { kind: 'escalated', reason: outcome.reason };
    case 'unrecoverable':
      state.stepFailed(step.id, 'step_failed', outcome.message, null, now);
      return { kind: 'unrecoverable' };
    case 'failed': {
      const retryInMs = stepWaitMs(step.retry, attempt);
      const code = outcome.timedOut ? 'step_timed_out' : 'step_failed';
      state.stepFailed(step.id, code, outcome.message, retryInMs, now);
      return retryInMs === null ? { kind: 'unrecoverable' } : { retryInMs };
    }
  }
}
