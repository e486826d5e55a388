import { CancellationScope, sleep, Trigger } from '@temporalio/workflow';
import { backendOf, stepWaitMs, type PlannedStep } from '../domain/tasks/plan.ts';
import type { StoredPlan } from '../domain/tasks/rerun.ts';
import type { Rehearsal } from '../domain/tasks/rehearsal.ts';
import type { Answer, RunState } from '../domain/tasks/run-state.ts';
import type { StepOutcome, StepWork } from '../domain/tasks/step-work.ts';
import type { Questions } from './questions.ts';
import type { Recorder } from './recorder.ts';
import type { StepBackend, Dependencies } from './step-backends/backend.ts';
import { stepBackends } from './step-backends/index.ts';
import { until } from './until.ts';

/** How the steps of a run ended as a whole. */
export type StepsOutcome = 'completed' | 'unrecoverable' | 'escalated';

type StepsOfRun = {
  executionId: string;
  plan: StoredPlan;
  rehearsal: Rehearsal | null;
  state: RunState;
  recorder: Recorder;
  questions: Questions;
};

/** A step as the loop below sees it. `attempt` is the last one begun, 0 before the first. */
type Place = {
  step: PlannedStep;
  number: number;
  attempt: number;
  phase: 'waiting' | 'working' | 'resting' | 'done';
};

/** What the loop over the steps keeps. `broken` holds what was thrown: a cancellation, or a fault of our own. */
type Loop = {
  run: StepsOfRun;
  places: Place[];
  outcomes: { place: Place; outcome: StepOutcome }[];
  broken: unknown[];
  scope: CancellationScope;
};

/**
 * Runs the steps of a plan: each as soon as those it comes after are completed, side by side where the plan
 * allows it, none begun while the run is paused. The first one that can't be recovered, or that asks for a human,
 * stops the others.
 * @throws CancelledFailure when the scope around it is cancelled
 */
export async function runSteps(run: StepsOfRun): Promise<StepsOutcome> {
  const loop: Loop = {
    run,
    places: run.plan.steps.map((step, index) => {
      const isKept = run.plan.kept?.some(({ id }) => id === step.id) === true;
      return { step, number: index + 1, attempt: 0, phase: isKept ? 'done' : 'waiting' };
    }),
    outcomes: [],
    broken: [],
    scope: new CancellationScope(),
  };
  const { places, outcomes, broken, scope } = loop;
  const isReady = () => !run.state.isPaused && readyPlaces(places).length > 0;
  while (places.some((place) => place.phase !== 'done')) {
    await begin(loop, isReady() ? readyPlaces(places) : []);
    await until(() => outcomes.length > 0 || broken.length > 0 || isReady());
    if (broken.length > 0) throw broken[0];
    const over = outcomes
      .splice(0)
      .map(({ place, outcome }) => conclude(loop, place, outcome))
      .find((end) => end !== null);
    if (over) {
      scope.cancel();
      return over;
    }
  }
  return 'completed';
}

/** Tells of the steps that begin, and of all that ended before, in one write; then lets them work. */
async function begin(loop: Loop, begun: readonly Place[]): Promise<void> {
  const { run, places, outcomes } = loop;
  for (const place of begun) {
    place.phase = 'working';
    place.attempt += 1;
    run.state.stepStarted(place.step.id, place.attempt, Date.now());
  }
  const [first] = begun;
  const isAlone = begun.length === 1 && places.filter((place) => place.phase === 'working').length === 1;
  const brief = first && isAlone ? backendAt(run, first).brief : undefined;
  if (first && brief?.fits(workOf(run, first))) {
    const done = await run.recorder.carryNews((news) => brief.work(news, workOf(run, first)));
    if (done?.outcome) outcomes.push({ place: first, outcome: done.outcome });
    return;
  }
  await run.recorder.flush();
  for (const place of begun) {
    inScope(loop, async () => {
      const outcome = await backendAt(run, place).work(workOf(run, place), surroundingsOf(run, place));
      outcomes.push({ place, outcome });
    });
  }
}

function inScope({ scope, broken }: Loop, work: () => Promise<void>): void {
  scope.run(work).catch((error: unknown) => broken.push(error));
}

function readyPlaces(places: readonly Place[]): Place[] {
  const done = new Set(places.filter((place) => place.phase === 'done').map((place) => place.step.name));
  return places.filter(
    ({ phase, step }) => phase === 'waiting' && step.after.every((name) => done.has(name)),
  );
}

function workOf({ executionId, rehearsal }: StepsOfRun, place: Place): StepWork {
  const { step, number, attempt } = place;
  return { executionId, step, number, attempt, rehearsal };
}

/** @throws RangeError for a plan of a later version, which names what this one does not have */
function backendAt({ plan }: StepsOfRun, { step }: Place): StepBackend {
  const name = backendOf(plan, step);
  const backend = stepBackends[name];
  if (!backend) throw new RangeError(`nothing here does the work of ${name}`);
  return backend;
}

function surroundingsOf(run: StepsOfRun, { step, number, attempt }: Place): Dependencies {
  const { executionId, plan, state } = run;
  return {
    isPaused: () => state.isPaused,
    ask: (text) => ask(run, step.id, text),
    agentWork: () => ({ executionId, step, number, attempt, earlier: stepsBefore(plan.steps, step) }),
  };
}

async function ask({ questions, recorder }: StepsOfRun, stepId: string, text: string): Promise<Answer> {
  const answered = new Trigger<Answer>();
  questions.ask(stepId, text, (answer) => answered.resolve(answer));
  await recorder.flush();
  return await answered;
}

/** Names of the steps that come before one, directly or through others, in the order of the plan. */
function stepsBefore(steps: readonly PlannedStep[], step: PlannedStep): string[] {
  const before = new Set(step.after);
  for (const { name, after } of steps.toReversed()) {
    if (before.has(name)) for (const one of after) before.add(one);
  }
  return steps.map(({ name }) => name).filter((name) => before.has(name));
}

/** Notes how an attempt ended. Answers how the steps ended, or null when they go on. */
function conclude(loop: Loop, place: Place, outcome: StepOutcome): StepsOutcome | null {
  const { state } = loop.run;
  const { step, attempt } = place;
  const now = Date.now();
  if (outcome.usage) state.stepUsed(step.id, outcome.usage);
  if (outcome.artifacts) state.artifactsSaved(step.id, outcome.artifacts);
  switch (outcome.kind) {
    case 'completed':
      place.phase = 'done';
      state.stepCompleted(step.id, outcome.result, now);
      return null;
    case 'escalated':
      state.stepEscalated(step.id, outcome.reason, now);
      return 'escalated';
    case 'unrecoverable':
      state.stepFailed(step.id, 'step_failed', outcome.message, null, now);
      return 'unrecoverable';
    case 'failed': {
      const waitMs = stepWaitMs(step.retry, attempt);
      state.stepFailed(
        step.id,
        outcome.timedOut ? 'step_timed_out' : 'step_failed',
        outcome.message,
        waitMs,
        now,
      );
      if (waitMs === null) return 'unrecoverable';
      rest(loop, place, waitMs);
      return null;
    }
  }
}

/** Leaves a step alone for a while; then it may begin again. */
function rest(loop: Loop, place: Place, forMs: number): void {
  place.phase = 'resting';
  inScope(loop, async () => {
    await sleep(forMs);
    place.phase = 'waiting';
  });
}
