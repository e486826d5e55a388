import { CancellationScope, condition, sleep } from '@temporalio/workflow';
import { stepWaitMs, type Plan, type PlannedStep } from '../domain/plan.ts';
import type { Rehearsal } from '../domain/rehearsal.ts';
import type { RunState } from '../domain/run-state.ts';
import type { StepOutcome } from '../domain/step-work.ts';
import type { Recorder } from './recorder.ts';
import { stepBackends } from './step-backends/backend.ts';

/** How the steps of a run ended as a whole. */
export type StepsOutcome = 'completed' | 'unrecoverable' | 'escalated';

type StepsOfRun = {
  executionId: string;
  plan: Plan;
  rehearsal: Rehearsal | null;
  state: RunState;
  recorder: Recorder;
};

/** A step as the loop below sees it. `attempt` is the last one begun, 0 before the first. */
type Place = {
  step: PlannedStep;
  number: number;
  attempt: number;
  phase: 'waiting' | 'working' | 'resting' | 'done';
};

/**
 * Runs the steps of a plan: each as soon as those it comes after are completed, side by side where the plan
 * allows it, none begun while the run is paused. The first one that can't be recovered, or that asks for a human,
 * stops the others.
 * @throws CancelledFailure when the scope around it is cancelled
 */
export async function runSteps(run: StepsOfRun): Promise<StepsOutcome> {
  const { state, recorder } = run;
  const places = run.plan.steps.map(
    (step, index): Place => ({ step, number: index + 1, attempt: 0, phase: 'waiting' }),
  );
  const outcomes: { place: Place; outcome: StepOutcome }[] = [];
  const broken: unknown[] = [];
  const scope = new CancellationScope();
  const inScope = (work: () => Promise<void>) => {
    scope.run(work).catch((error: unknown) => broken.push(error));
  };

  for (;;) {
    const begun = state.isPaused ? [] : readyPlaces(places);
    for (const place of begun) {
      place.phase = 'working';
      place.attempt += 1;
      state.stepStarted(place.step.id, place.attempt, Date.now());
    }
    // One write tells of what ended and of what begins; nothing begins before it is told.
    await recorder.flush();
    const isAlone = places.filter((place) => place.phase === 'working').length === 1;
    for (const place of begun) {
      inScope(async () => {
        const outcome = await work(run, place, isAlone);
        outcomes.push({ place, outcome });
      });
    }
    if (places.every((place) => place.phase === 'done')) return 'completed';
    const isReady = () => !state.isPaused && readyPlaces(places).length > 0;
    await condition(() => outcomes.length > 0 || broken.length > 0 || isReady());
    if (broken.length > 0) throw broken[0];
    let over: StepsOutcome | null = null;
    for (const { place, outcome } of outcomes.splice(0)) {
      const end = conclude(state, place, outcome);
      if (end.kind === 'over') over ??= end.outcome;
      if (end.kind === 'rest') {
        inScope(async () => {
          await sleep(end.forMs);
          place.phase = 'waiting';
        });
      }
    }
    if (over !== null) {
      scope.cancel();
      return over;
    }
  }
}

function readyPlaces(places: readonly Place[]): Place[] {
  const done = new Set(places.filter((place) => place.phase === 'done').map((place) => place.step.name));
  return places.filter(
    ({ phase, step }) => phase === 'waiting' && step.after.every((name) => done.has(name)),
  );
}

function work(run: StepsOfRun, place: Place, isAlone: boolean): Promise<StepOutcome> {
  const { executionId, plan, rehearsal } = run;
  const { step, number, attempt } = place;
  return stepBackends[plan.backend]({ executionId, step, number, attempt, rehearsal }, { isAlone });
}

type Conclusion =
  | { kind: 'done' }
  | { kind: 'rest'; forMs: number }
  | { kind: 'over'; outcome: StepsOutcome };

/** Notes how an attempt ended, and answers what that means for the step and the run. */
function conclude(state: RunState, place: Place, outcome: StepOutcome): Conclusion {
  const { step, attempt } = place;
  const now = Date.now();
  switch (outcome.kind) {
    case 'completed':
      place.phase = 'done';
      state.stepCompleted(step.id, outcome.result, now);
      return { kind: 'done' };
    case 'escalated':
      state.stepEscalated(step.id, outcome.reason, now);
      return { kind: 'over', outcome: 'escalated' };
    case 'unrecoverable':
      state.stepFailed(step.id, 'step_failed', outcome.message, null, now);
      return { kind: 'over', outcome: 'unrecoverable' };
    case 'failed': {
      const forMs = stepWaitMs(step.retry, attempt);
      const code = outcome.timedOut ? 'step_timed_out' : 'step_failed';
      state.stepFailed(step.id, code, outcome.message, forMs, now);
      place.phase = 'resting';
      return forMs === null ? { kind: 'over', outcome: 'unrecoverable' } : { kind: 'rest', forMs };
    }
  }
}
