import { allHandlersFinished, condition, continueAsNew, patched } from '@temporalio/workflow';
import { relativeLength } from '../domain/tasks/run-change.ts';
import type { TaskRunInput } from '../temporal/task-messages.ts';
import type { CarriedRun, Stage } from './carried-run.ts';
import type { Run } from './run.ts';
import { until } from './until.ts';

/*
 * A run continues as a new execution of its workflow when its history is long: only where it waits, everything is
 * recorded, and no signal is being handled.
 */

/**
 * Multiples of the length from which a run continues. From CROWDED, no step starts while another one is in progress. From URGENT, activities in
 * progress are repeated by the next execution.
 */
const CROWDED = 4;
const URGENT = 8;

/** Returns the current stage; null if something is in progress that the next execution could not take over. */
export type FindStage = () => Stage | null;

/** Resolves once `holds` returns true. */
export async function untilOrContinue(run: Run, holds: () => boolean, stageOf: FindStage): Promise<void> {
  for (;;) {
    await until(() => holds() || mayContinue(run, stageOf));
    if (holds()) return;
    await continueRun(run, stageOf);
  }
}

/** Resolves at `time`, in milliseconds since 1970. */
export async function sleepOrContinue(run: Run, time: number, stageOf: FindStage): Promise<void> {
  for (let left = time - Date.now(); left > 0; left = time - Date.now()) {
    if (await condition(() => mayContinue(run, stageOf), left)) await continueRun(run, stageOf);
  }
  if (run.signals.areWaiting) await run.signals.settled();
}

/** Returns whether the history is long, and the current stage can be carried over. */
export function mayContinue(run: Run, stageOf: FindStage): boolean {
  return isLong(run) && stageOf() !== null;
}

/** Continues as a new execution. Returns only if that is not possible any more. */
export async function continueRun(run: Run, stageOf: FindStage): Promise<void> {
  const { recorder, work } = run;
  const isSettled = () => allHandlersFinished() && recorder.isIdle && !work.consideredCancelled;
  await recorder.flush();
  for (let stage = stageOf(); stage !== null; stage = stageOf()) {
    // No signal can be handled between this check and the end of the execution. If one arrives before it, Temporal
    // rejects the end, and the workflow task is repeated with the signal.
    if (isSettled()) await continueAsNew<ContinuedRun>(null, carriedRun(run, stage));
    await until(() => isSettled() || stageOf() === null);
  }
}

/** A worker of a version that cannot continue runs fails on the missing input, and leaves the run to another worker. */
type ContinuedRun = (input: TaskRunInput | null, carried: CarriedRun) => Promise<unknown>;

function carriedRun({ input, recorder, state, questions, callsBackAtOnce }: Run, stage: Stage): CarriedRun {
  return {
    input,
    view: recorder.shown,
    memory: state.memory(),
    stateInAttribute: recorder.stateInAttribute,
    ...questions.carried(),
    callsBackAtOnce,
    stage,
  };
}

/** Returns whether the history is so long that a step waits until the steps in progress have ended. */
export function isCrowded(run: Run): boolean {
  return lengthOf(run) >= CROWDED && isLong(run);
}

/** Returns whether the history is so long that the next execution repeats the activities in progress. */
export function isUrgent(run: Run): boolean {
  return lengthOf(run) >= URGENT;
}

function isLong(run: Run): boolean {
  // A run that an earlier version executes may have got here without continuing.
  return lengthOf(run) >= 1 && patched('continues-as-new');
}

function lengthOf({ input, recorder }: Run): number {
  return relativeLength(recorder.history, input.historyEvents);
}
