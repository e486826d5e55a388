import type { RunRecords } from '../activities/run-records.ts';
import type { StoredPlan } from '../domain/tasks/rerun.ts';
import type { RunMemory } from '../domain/tasks/run-state.ts';
import type { RunView } from '../domain/tasks/run-schemas.ts';
import type { TaskState } from '../domain/tasks/task-states.ts';
import type { TaskRunInput } from '../temporal/task-messages.ts';
import type { CarriedChild } from './agent-child.ts';
import type { CarriedQuestions } from './questions.ts';

/** How the steps of a run ended as a whole. */
export type StepsOutcome = 'completed' | 'unrecoverable' | 'escalated';

/** The result of planning. */
export type Planned = Awaited<ReturnType<RunRecords['planRun']>>['planned'];

/** A question that a step has asked. `notes`: what its backend continues with after the answer. */
export type AskedQuestion = { number: number; notes: unknown };

/**
 * A step between two executions, in the order of the plan. `attempt` is the last attempt that started, 0 before the
 * first. A `working` step waits for the answer to its `question` or for its `child`. A `resting` one continues at
 * `wakesAt`, in milliseconds since 1970.
 */
export type CarriedSlot = {
  attempt: number;
  phase: 'waiting' | 'working' | 'resting' | 'done';
  wakesAt: number;
  question: AskedQuestion | null;
  child: CarriedChild | null;
};

/**
 * The stage of a run at which its next execution begins. `until` is the end of a wait in milliseconds since
 * 1970, null before the wait. `slots` is null before the first step, `outcome` while steps are left.
 */
export type Stage =
  | { kind: 'starting'; until: number | null }
  | { kind: 'planning'; planned: Planned; until: number | null; child: CarriedChild | null }
  | { kind: 'executing'; plan: StoredPlan; slots: CarriedSlot[] | null; outcome: StepsOutcome | null };

export type StageOf<Kind extends Stage['kind']> = Extract<Stage, { kind: Kind }>;

/** Everything that the next execution of a run takes over. */
export type CarriedRun = CarriedQuestions & {
  input: TaskRunInput;
  /** The last recorded view. */
  view: RunView;
  memory: RunMemory;
  stateInAttribute: TaskState | null;
  callsBackAtOnce: boolean;
  stage: Stage;
};
