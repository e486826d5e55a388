import { CancellationScope, patched, sleep, Trigger } from '@temporalio/workflow';
import { backendOf, stepsBefore, stepWaitMs, type PlannedStep } from '../domain/tasks/plan.ts';
import type { StoredPlan } from '../domain/tasks/rerun.ts';
import type { Answer } from '../domain/tasks/run-state.ts';
import type { StepOutcome, StepWork } from '../domain/tasks/step-work.ts';
import type { CarriedSlot, StageOf, StepsOutcome } from './carried-run.ts';
import { continueRun, isCrowded, isUrgent, mayContinue } from './continuation.ts';
import type { Run } from './run.ts';
import type { StepBackend, Dependencies } from './step-backends/backend.ts';
import { stepBackends } from './step-backends/index.ts';
import { until } from './until.ts';

/** State of a step in the loop below. */
type StepSlot = CarriedSlot & { step: PlannedStep; number: number };

/**
 * State of the loop over the steps. `errors` contains thrown errors: a cancellation, or an internal error. `shortMs`: the
 * total time of consecutive steps that were local activities, up to now.
 */
type Loop = {
  run: Run;
  shortMs: number;
  plan: StoredPlan;
  slots: StepSlot[];
  outcomes: { slot: StepSlot; outcome: StepOutcome }[];
  errors: unknown[];
  scope: CancellationScope;
};

/** Time after which an activity of an earlier execution has certainly learned that it is repeated, in milliseconds. */
const REPEAT_MS = 5_000;

/**
 * Maximum total time of consecutive steps that are local activities, in milliseconds. The run handles signals only after
 * them (src/workflows/signal-order.ts). The next step is an activity, during which the workflow waits.
 */
const MAX_SHORT_STEPS_MS = 1_000;
/** Minimum time that such a step counts as, in milliseconds. */
const MIN_SHORT_STEP_MS = 50;

/**
 * Runs the steps of a plan. Each step starts as soon as the steps before it are completed, concurrently where the plan
 * allows it. No step starts while the run is paused. The first step that cannot recover, or that escalates, stops the
 * others. `carried`: the steps as an earlier execution of the workflow left them.
 * @throws CancelledFailure if the surrounding scope is cancelled
 */
export async function runSteps(
  run: Run,
  plan: StoredPlan,
  carried: readonly CarriedSlot[] | null,
): Promise<StepsOutcome> {
  const slots = plan.steps.map((step, index) => {
    const isKept = plan.kept?.some(({ id }) => id === step.id) === true;
    return { ...newSlot(isKept ? 'done' : 'waiting'), ...carried?.[index], step, number: index + 1 };
  });
  const scope = new CancellationScope();
  const loop: Loop = { run, shortMs: 0, plan, slots, outcomes: [], errors: [], scope };
  const { outcomes, errors } = loop;
  const isReady = () => readySlots(loop).length > 0;
  const stageOf = () => stageAt(loop);
  for (const slot of slots) resume(loop, slot);
  while (slots.some((slot) => slot.phase !== 'done')) {
    if (mayContinue(run, stageOf)) await continueRun(run, stageOf);
    await startSteps(loop, readySlots(loop));
    await until(() => outcomes.length > 0 || errors.length > 0 || isReady() || mayContinue(run, stageOf));
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

function newSlot(phase: CarriedSlot['phase']): CarriedSlot {
  return { attempt: 0, phase, wakesAt: 0, question: null, child: null };
}

/** Continues what an earlier execution of the workflow left in progress. */
function resume(loop: Loop, slot: StepSlot): void {
  if (slot.phase === 'resting') rest(loop, slot);
  if (slot.phase === 'working') startWork(loop, slot);
}

/** Returns the stage, or null if an activity is in progress that the next execution would have to repeat. */
function stageAt({ run, plan, slots, outcomes, errors }: Loop): StageOf<'executing'> | null {
  if (outcomes.length > 0 || errors.length > 0) return null;
  const inProgress = slots.filter(isInProgress);
  // The workflow of an agent outlives this execution, so its step must not be started again.
  const mayRepeat = isUrgent(run) && inProgress.every(({ step }) => backendOf(plan, step) !== 'model');
  if (inProgress.length > 0 && !mayRepeat) return null;
  const wakesAt = Date.now() + REPEAT_MS;
  const carried = slots.map((slot): CarriedSlot => {
    const { attempt, phase, question, child } = slot;
    return inProgress.includes(slot)
      ? { attempt: attempt - 1, phase: 'resting', wakesAt, question: null, child: null }
      : { attempt, phase, wakesAt: slot.wakesAt, question, child };
  });
  return { kind: 'executing', plan: withoutOutputs(plan), slots: carried, outcome: null };
}

/** Returns the plan without the kept steps and their outputs, which the state of the run also contains. */
export function withoutOutputs({ backend, steps, run_time_limit_ms }: StoredPlan): StoredPlan {
  return { backend, steps, run_time_limit_ms };
}

/** Whether the step has an activity in progress, which ends with this execution of the workflow. */
function isInProgress({ phase, question, child }: StepSlot): boolean {
  return phase === 'working' && question === null && child === null;
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
  const short = first && isAlone ? backendAt(loop, first).short : undefined;
  if (first && short?.fits(workOf(run, first)) && mayBeLocal(loop, short.ms(workOf(run, first)))) {
    const done = await run.recorder.recordWith((change) => short.work(change, workOf(run, first)));
    if (done?.outcome) outcomes.push({ slot: first, outcome: done.outcome });
    return;
  }
  await run.recorder.flush();
  for (const slot of started) startWork(loop, slot);
}

/** Counts a short step. Returns false if the short steps before it have taken so long that it must be an activity. */
function mayBeLocal(loop: Loop, ms: number): boolean {
  const total = loop.shortMs + Math.max(ms, MIN_SHORT_STEP_MS);
  const isTooLong = total > MAX_SHORT_STEPS_MS && patched('brief-steps-are-interrupted');
  loop.shortMs = isTooLong ? 0 : total;
  return !isTooLong;
}

function startWork(loop: Loop, slot: StepSlot): void {
  const { signals } = loop.run;
  inScope(loop, async () => {
    const outcome = await backendAt(loop, slot).work(workOf(loop.run, slot), dependenciesOf(loop, slot));
    if (signals.areWaiting) await signals.settled();
    loop.outcomes.push({ slot, outcome });
  });
}

function inScope({ scope, errors }: Loop, work: () => Promise<void>): void {
  scope.run(work).catch((error: unknown) => errors.push(error));
}

/** Returns the steps that may start now. */
function readySlots({ run, slots }: Loop): StepSlot[] {
  if (run.state.isPaused) return [];
  const done = new Set(slots.filter((slot) => slot.phase === 'done').map((slot) => slot.step.name));
  const ready = slots.filter(
    ({ phase, step }) => phase === 'waiting' && step.after.every((name) => done.has(name)),
  );
  // The run can continue with a new history only when no step is in progress.
  return ready.length > 0 && slots.some(isInProgress) && isCrowded(run) ? [] : ready;
}

function workOf({ input: { executionId, rehearsal } }: Run, slot: StepSlot): StepWork {
  const { step, number, attempt } = slot;
  return { executionId, step, number, attempt, rehearsal };
}

/** @throws RangeError for an unknown backend, in a plan of a later version */
function backendAt({ plan }: Loop, { step }: StepSlot): StepBackend {
  const name = backendOf(plan, step);
  const backend = stepBackends[name];
  if (!backend) throw new RangeError(`unknown backend: ${name}`);
  return backend;
}

function dependenciesOf({ run, plan }: Loop, slot: StepSlot): Dependencies {
  const { step, number, attempt } = slot;
  const { executionId } = run.input;
  return {
    isPaused: () => run.state.isPaused,
    ask: (text, notes = null) => ask(run, slot, text, notes),
    notes: slot.question?.notes ?? null,
    runAgent: (child) => run.agents.run(child, slot),
    afterwards: (work) => run.agents.afterwards(work),
    agentWork: () => ({ executionId, step, number, attempt, earlier: stepsBefore(plan, step) }),
  };
}

/** Asks a person, or waits for the answer to the question that an earlier execution of the workflow has asked. */
async function ask(
  { questions, recorder }: Run,
  slot: StepSlot,
  text: string,
  notes: unknown,
): Promise<Answer> {
  const answered = new Trigger<Answer>();
  const onAnswer = (answer: Answer) => {
    slot.question = null;
    answered.resolve(answer);
  };
  if (slot.question) {
    questions.expect(slot.question.number, onAnswer);
    return await answered;
  }
  const number = questions.ask(slot.step.id, text, onAnswer);
  if (number !== null) slot.question = { number, notes };
  const continueEarly = questions.continueEarly();
  await recorder.flush();
  await continueEarly();
  return await answered;
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
      slot.phase = 'resting';
      slot.wakesAt = now + waitMs;
      rest(loop, slot);
      return null;
    }
  }
}

/** Makes a step ready again when the wait before its next attempt is over. */
function rest(loop: Loop, slot: StepSlot): void {
  const { signals } = loop.run;
  inScope(loop, async () => {
    await sleep(Math.max(0, slot.wakesAt - Date.now()));
    if (signals.areWaiting) await signals.settled();
    slot.phase = 'waiting';
  });
}
