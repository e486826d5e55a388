import type { TaskHandle } from '../../engine/tasks.ts';
import type { VirtualTimer } from '../../world/clock.ts';
import { payloadOf, type Activation, type Command, type Job } from './instance.ts';

export type CloseStatus = 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'TERMINATED' | 'CONTINUED_AS_NEW';

/** An activation of a completed workflow task, and what the code asked for in it. */
export type Recorded = Activation & { commands: string };

/** A pause made in the Web UI. */
export type OperatorPause = { pausedAt: Date; by: string };

/** One execution of a workflow, as the engine stores it. */
export type Execution = {
  id: string;
  runId: string;
  /** The execution that this one continues; null: it is the first. */
  continuedFrom: string | null;
  type: string;
  startedAt: number;
  /** The activations of all completed workflow tasks. A replay repeats them. */
  history: Recorded[];
  /** The length of the history in events. */
  length: number;
  /** What no completed workflow task has told the workflow yet. */
  events: Job[];
  /** The workflow task that is waiting for a worker or in progress. */
  task: WorkflowTask | null;
  /** How many tasks have failed since the last completed one. Temporal stores the events of the first only. */
  failures: number;
  /** Whether a task has failed and must be repeated, even if there are no events. */
  isUnfinished: boolean;
  /** The worker that ran the last task. */
  sticky: string | null;
  patches: Set<string>;
  timers: Map<number, VirtualTimer>;
  activities: Map<number, { handle: TaskHandle | null; isCancelled: boolean }>;
  pause: OperatorPause | null;
  closed: { status: CloseStatus; at: number } | null;
  isCancelRequested: boolean;
  /** Called when a workflow task ends. */
  waiting: (() => void)[];
};

/** A workflow task. `given`: the events that it tells the workflow. `turns`: how many activations are recorded before it. */
export type WorkflowTask = {
  execution: Execution;
  given: readonly Job[];
  historyLength: number;
  turns: number;
};

/** The result of a workflow task. `keepsGoing`: local activities are in progress, so the next task follows immediately. */
export type TaskResult = { activations: Recorded[]; commands: Command[]; keepsGoing: boolean };

export function newExecution(
  of: Pick<Execution, 'id' | 'runId' | 'continuedFrom' | 'type' | 'startedAt'>,
  args: readonly unknown[],
): Execution {
  const start = { arguments: args.map(payloadOf), headers: {} };
  return {
    ...of,
    history: [],
    length: 1,
    events: [jobOf('initializeWorkflow', start)],
    task: null,
    failures: 0,
    isUnfinished: false,
    sticky: null,
    patches: new Set(),
    timers: new Map(),
    activities: new Map(),
    pause: null,
    closed: null,
    isCancelRequested: false,
    waiting: [],
  };
}

export function jobOf(variant: string, given: object): Job {
  return { variant, [variant]: given };
}

/** The order in which Temporal's SDK delivers jobs: the start, then signals, then everything else. */
const RANKS: Readonly<Record<string, number>> = { initializeWorkflow: 0, signalWorkflow: 1 };

export function inOrder(jobs: readonly Job[]): Job[] {
  return jobs.toSorted(({ variant: one }, { variant: other }) => (RANKS[one] ?? 2) - (RANKS[other] ?? 2));
}

/** Commands that end an execution. */
const CLOSING = [
  ['completeWorkflowExecution', 'COMPLETED'],
  ['failWorkflowExecution', 'FAILED'],
  ['cancelWorkflowExecution', 'CANCELLED'],
  ['continueAsNewWorkflowExecution', 'CONTINUED_AS_NEW'],
] as const;

/** Returns how commands end the execution; null if they do not. */
export function closeOf(commands: readonly Command[]): CloseStatus | null {
  const found = CLOSING.find(([name]) => commands.some((command) => command[name]));
  return found?.[1] ?? null;
}

/** Returns commands in a form that two runs of the same code can be compared by. */
export function textOf(commands: readonly Command[]): string {
  return commands
    .map((command) => {
      const [[name, given] = ['nothing', null]] = Object.entries(command).filter(([, value]) => value);
      const { seq, activityType, patchId } = (given ?? {}) as Record<string, string | number | undefined>;
      return [name, seq, activityType, patchId].filter((part) => part !== undefined).join(' ');
    })
    .join(', ');
}
