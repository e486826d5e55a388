import { CancellationScope } from '@temporalio/workflow';
import { RunState, type ControlRequest } from '../domain/tasks/run-state.ts';
import type { TaskRunInput } from '../temporal/task-messages.ts';
import { Agents } from './agent-child.ts';
import type { CarriedRun, Stage } from './carried-run.ts';
import { Questions } from './questions.ts';
import { Recorder } from './recorder.ts';
import { recorderEngine } from './recorder-engine.ts';
import { SignalOrder } from './signal-order.ts';

/** A run in progress. */
export type Run = {
  input: TaskRunInput;
  state: RunState;
  recorder: Recorder;
  questions: Questions;
  signals: SignalOrder;
  agents: Agents;
  /** Where an earlier execution of the workflow stopped; null in the first one. */
  stage: Stage | null;
  /** Everything that a cancel stops. */
  work: CancellationScope;
  /** The request to cancel it, if there is one. */
  cancel: ControlRequest | null;
  /** Why the run exceeded its time limit; null if it did not. */
  timeOver: string | null;
  /** Whether the process that writes the end makes the first attempt of the callback. */
  callsBackAtOnce: boolean;
  /** Whether the workflow has nothing more to do for the callback. */
  calledBack: boolean;
};

/** Creates the state of a run that has just been started, or that continues from an earlier execution. */
export function createRun(input: TaskRunInput, earlier: CarriedRun | null): Run {
  const state = new RunState(Date.parse(input.createdAt), earlier && recordedOf(earlier));
  const work = new CancellationScope();
  const recorder = new Recorder(input, state, () => work.cancel(), recorderEngine, earlier);
  return {
    input,
    state,
    recorder,
    signals: new SignalOrder(recorder, input.ordersSignals === true),
    questions: new Questions(state, earlier),
    agents: new Agents(() => state.isPaused),
    stage: earlier && earlier.stage,
    work,
    cancel: null,
    timeOver: null,
    callsBackAtOnce: earlier?.callsBackAtOnce === true,
    calledBack: false,
  };
}

function recordedOf({ view, memory, stage }: CarriedRun) {
  return { view, memory, plan: stage.kind === 'executing' ? stage.plan : null };
}
