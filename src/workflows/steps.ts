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

/** State of a step in the loop below. `attempt` is the last attempt that started, 0 before the first. */
type StepSlot = {
  step: PlannedStep;
  number: number;
  attempt: number;
  phase: 'waiting' | 'working' | 'resting' | 'done';
};

/** State of the loop over the steps. `errors` contains thrown errors: a cancellation, or an internal error. */
type Loop = {
  run: StepsOfRun;
  slots: StepSlot[];
  outcomes: { slot: StepSlot; outcome: StepOutcome }[];
  errors: unknown[];
  scope: CancellationScope;
};

/**
 * Runs the steps of a plan. Each step starts as soon as the steps before it are completed, concurrently where the plan
 * allows it. No step starts while the run is paused. The first step that cannot recover, or that escalates, stops the
 * others.
 * @throws CancelledFailure if the surrounding scope is cancelled
 */
export async function runSteps(run: StepsOfRun): Promise<StepsOutcome> {
  const loop: Loop = {
    run,
    slots: run.plan.steps.map((step, index) => {
      const isKept = run.plan.kept?.some(({ id }) => id === step.id) === true;
      return { step, number: index + 1, attempt: 0, phase: isKept ? 'done' : 'waiting' };
    }),
    outcomes: [],
    errors: [],
    scope: new CancellationScope(),
  };
  const { slots, outcomes, errors, scope } = loop;
  const isReady = () => !run.state.isPaused && readySlots(slots).length > 0;
  while (slots.some((slot) => slot.phase !== 'done')) {
    await startSteps(loop, isReady() ? readySlots(slots) : []);
    await until(() => outcomes.length > 0 || errors.length > 0 || isReady());
    if (errors.length > 0) throw errors[0];
    const over = outcomes
      .splice(0)
      .map(({ slot, outcome }) => recordOutcome(loop, slot, outcome))
      .find((end) => end !== null);
    if (over) {
      scope.cancel();
      return over;
    }
  }
  return 'completed';
}

/** Records the steps that start, together with earlier changes, in one write. Then runs them. */
async function startSteps(loop: Loop, started: readonly StepSlot[]): Promise<void> {
  const { run, slots, outcomes } = loop;
  for (const slot of started) {
    slot.phase = 'working';
    slot.attempt += 1;
    run.state.stepStarted(slot.step.id, slot.attempt, Date.now());
  }
  const [first] = started;
  const isAlone = started.length === 1 && slots.filter((slot) => slot.phase === 'working').length === 1;
  const brief = first && isAlone ? backendAt(run, first).brief : undefined;
  if (first && brief?.fits(workOf(run, first))) {
    const done = await run.recorder.recordWith((change) => brief.work(change, workOf(run, first)));
    if (done?.outcome) outcomes.push({ slot: first, outcome: done.outcome });
    return;
  }
  await run.recorder.flush();
  for (const slot of started) {
    inScope(loop, async () => {
      const outcome = await backendAt(run, slot).work(workOf(run, slot), dependenciesOf(run, slot));
      outcomes.push({ slot, outcome });
    });
  }
}

function inScope({ scope, errors }: Loop, work: () => Promise<void>): void {
  scope.run(work).catch((error: unknown) => errors.push(error));
}

function readySlots(slots: readonly StepSlot[]): StepSlot[] {
  const done = new Set(slots.filter((slot) => slot.phase === 'done').map((slot) => slot.step.name));
  return slots.filter(({ phase, step }) => phase === 'waiting' && step.after.every((name) => done.has(name)));
}

function workOf({ executionId, rehearsal }: StepsOfRun, slot: StepSlot): StepWork {
  const { step, number, attempt } = slot;
  return { executionId, step, number, attempt, rehearsal };
}

/** @throws RangeError for a plan of a later version, which names what this one does not have */
function backendAt({ plan }: StepsOfRun, { step }: StepSlot): StepBackend {
  const name = backendOf(plan, step);
  const backend = stepBackends[name];
  if (!backend) throw new RangeError(`unknown backend: ${name}`);
  return backend;
}

function dependenciesOf(run: StepsOfRun, { step, number, attempt }: StepSlot): Dependencies {
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

/** Returns the names of the steps before a step, direct and indirect, in the order of the plan. */
function stepsBefore(steps: readonly PlannedStep[], step: PlannedStep): string[] {
  const before = new Set(step.after);
  for (const { name, after } of steps.toReversed()) {
    if (before.has(name)) for (const one of after) before.add(one);
  }
  return steps.map(({ name }) => name).filter((name) => before.has(name));
}

/** Records how an attempt ended. Returns how the steps ended as a whole, or null if they continue. */
function recordOutcome(loop: Loop, slot: StepSlot, outcome: StepOutcome): StepsOutcome | null {
  const { state } = loop.run;
  const { step, attempt } = slot;
  const now = Date.now();
  if (outcome.usage) state.stepUsed(step.id, outcome.usage);
  if (outcome.artifacts) state.artifactsSaved(step.id, outcome.artifacts);
  switch (outcome.kind) {
    case 'completed':
      slot.phase = 'done';
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
      backOff(loop, slot, waitMs);
      return null;
    }
  }
}

/** Makes a step ready again after a wait. */
function backOff(loop: Loop, slot: StepSlot, forMs: number): void {
  slot.phase = 'resting';
  inScope(loop, async () => {
    await sleep(forMs);
    slot.phase = 'waiting';
  });
}
