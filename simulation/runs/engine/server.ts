import {
  ActivityFailure,
  CancelledFailure,
  defaultFailureConverter,
  defaultPayloadConverter,
  RetryState,
  TimeoutFailure,
} from '@temporalio/common';
import type { ActivityCall } from '../../engine/workflow-api.ts';
import { retryWaitMs, type TaskEnd, type TaskHandle, type Tasks } from '../../engine/tasks.ts';
import type { Clock, Process } from '../../world/clock.ts';
import type { Random } from '../../world/random.ts';
import {
  closeOf,
  jobOf,
  newExecution,
  type CloseStatus,
  type Execution,
  type TaskResult,
  type WorkflowTask,
} from './executions.ts';
import { durationOf, payloadOf, valueOf, type Command, type Job } from './instance.ts';

/** The part of a worker that runs workflow code. */
export type WorkflowWorker = {
  process: Process;
  /** Runs a workflow task. */
  take(task: WorkflowTask): void;
  /** Returns the answer to a query of an execution that has no workflow task in progress. */
  query(execution: Execution, name: string): Promise<unknown>;
  /** Resolves when no workflow task is in progress. */
  idle(): Promise<void>;
};

/** Time limit of a workflow task, in milliseconds. */
export const WORKFLOW_TASK_MS = 10_000;

export type Server = ReturnType<typeof createServer>;

/** The engine itself: it stores executions, and hands tasks to workers. */
export function createServer({ clock, random, tasks, delay, newId, trace, onRepeat }: Dependencies) {
  /** The latest execution of each workflow id. */
  const executions = new Map<string, Execution>();
  const workers: WorkflowWorker[] = [];
  const unassigned: Execution[] = [];

  function open(
    id: string,
    type: string,
    args: readonly unknown[],
    continuedFrom: string | null = null,
  ): Execution {
    const runId = newId('execution');
    const execution = newExecution({ id, runId, continuedFrom, type, startedAt: clock.now() }, args);
    executions.set(id, execution);
    schedule(execution);
    return execution;
  }

  /** Tells the workflow something with its next task. */
  function tell(execution: Execution, job: Job, events = 1): void {
    if (execution.closed) return;
    execution.events.push(job);
    execution.length += events;
    schedule(execution);
  }

  function schedule(execution: Execution): void {
    const { closed, task, pause, events, isUnfinished } = execution;
    if (closed || task || pause || (events.length === 0 && !isUnfinished)) return;
    execution.task = taskOf(execution);
    if (execution.failures === 0) execution.length += 1;
    const scheduled = execution.task;
    clock.after(delay(), null, () => {
      if (execution.task === scheduled) assign(execution);
    });
  }

  /** Hands the scheduled task to a worker: the last one, which still has the workflow in its memory, if it lives. */
  function assign(execution: Execution): void {
    if (execution.pause) return endTask(execution);
    const able = workers.filter(({ process }) => process.state === 'up');
    const known = workers.find(
      ({ process }) => process.name === execution.sticky && process.state !== 'dead',
    );
    if (!known && able.length === 0) return void unassigned.push(execution);
    begin(execution, known ?? random.pick(able));
  }

  function begin(execution: Execution, worker: WorkflowWorker): void {
    if (execution.failures === 0) execution.length += 1;
    const task = taskOf(execution);
    execution.task = task;
    execution.sticky = worker.process.name;
    clock.after(delay(), worker.process, () => worker.take(task));
    expire(task);
  }

  /** After its time limit, a task is repeated by another worker. */
  function expire(task: WorkflowTask): void {
    clock.after(WORKFLOW_TASK_MS, null, () => fail(task, 'timed out'));
  }

  function fail(task: WorkflowTask, why: string): void {
    const { execution } = task;
    if (execution.task !== task) return;
    if (execution.failures === 0) execution.length += 1;
    execution.failures += 1;
    execution.sticky = null;
    execution.isUnfinished = true;
    endTask(execution);
    trace(`a task of ${execution.id} ${why}`);
    onRepeat(execution.id);
    schedule(execution);
  }

  function endTask(execution: Execution): void {
    execution.task = null;
    for (const wake of execution.waiting.splice(0)) wake();
  }

  /**
   * Stores the result of a task. Returns the task that follows immediately, if the worker keeps going; null if there is none;
   * `rejected` if the result is outdated, or new events have arrived before the end of the execution.
   */
  function complete(task: WorkflowTask, result: TaskResult): WorkflowTask | null | 'rejected' {
    const { execution } = task;
    if (execution.task !== task || execution.closed) return 'rejected';
    const status = closeOf(result.commands);
    if (status && execution.events.length > task.given.length) {
      fail(task, 'was rejected: new events have arrived');
      return 'rejected';
    }
    execution.history.push(...result.activations);
    execution.events.splice(0, task.given.length);
    execution.isUnfinished = false;
    execution.length += execution.failures > 0 ? 2 : 0;
    execution.failures = 0;
    execution.length += 1 + result.commands.length + result.activations.length - 1;
    endTask(execution);
    for (const command of result.commands) apply(execution, command);
    if (status) close(execution, status);
    if (!result.keepsGoing || execution.closed) {
      schedule(execution);
      return null;
    }
    execution.length += 2;
    const next = taskOf(execution);
    execution.task = next;
    expire(next);
    return next;
  }

  function apply(execution: Execution, command: Command): void {
    const { startTimer, cancelTimer, scheduleActivity, requestCancelActivity, setPatchMarker } = command;
    const { continueAsNewWorkflowExecution: next } = command;
    if (startTimer) {
      const { seq, startToFireTimeout } = startTimer;
      const fire = () => tell(execution, jobOf('fireTimer', { seq }));
      execution.timers.set(seq ?? 0, clock.after(durationOf(startToFireTimeout), null, fire));
    } else if (cancelTimer) execution.timers.get(cancelTimer.seq ?? 0)?.cancel();
    else if (scheduleActivity) void runActivity(execution, scheduleActivity);
    else if (requestCancelActivity) {
      const activity = execution.activities.get(requestCancelActivity.seq ?? 0);
      if (activity) activity.isCancelled = true;
      activity?.handle?.cancel();
    } else if (setPatchMarker) execution.patches.add(setPatchMarker.patchId ?? '');
    else if (next) {
      close(execution, 'CONTINUED_AS_NEW');
      trace(`${execution.id} continues as a new execution`);
      open(execution.id, execution.type, (next.arguments ?? []).map(valueOf), execution.runId);
    } else if (!closeOf([command]) && !command.upsertWorkflowSearchAttributes)
      throw new Error(`the simulation does not know the command ${Object.keys(command).join()}`);
  }

  async function runActivity(execution: Execution, scheduled: NonNullable<Command['scheduleActivity']>) {
    const seq = scheduled.seq ?? 0;
    const activity: { handle: TaskHandle | null; isCancelled: boolean } = {
      handle: null,
      isCancelled: false,
    };
    execution.activities.set(seq, activity);
    const call = callOf(scheduled, (scheduled.arguments ?? []).map(valueOf));
    let isLate = false;
    const limitMs = durationOf(scheduled.scheduleToCloseTimeout ?? { seconds: 0 });
    const limit = clock.after(limitMs || Number.POSITIVE_INFINITY, null, () => {
      isLate = true;
      activity.handle?.abandon();
    });
    const ended = await repeatUntilEnd(execution, call, activity, () => isLate);
    limit.cancel();
    execution.activities.delete(seq);
    tell(execution, jobOf('resolveActivity', { seq, result: resultOf(call.name, ended, isLate) }), 2);
  }

  async function repeatUntilEnd(
    execution: Execution,
    call: ActivityCall,
    activity: { handle: TaskHandle | null; isCancelled: boolean },
    isLate: () => boolean,
  ): Promise<TaskEnd> {
    for (let attempt = 1; ; attempt += 1) {
      while (execution.pause) await clock.sleep(PAUSE_POLL_MS);
      if (activity.isCancelled) return { kind: 'cancelled' };
      activity.handle = tasks.begin(call, execution.id, attempt);
      const end = await activity.handle.ended;
      // A closed workflow waits for nothing.
      if (execution.closed) return await new Promise<never>(() => {});
      if (isLate()) return { kind: 'timed out' };
      if (end.kind === 'completed' || end.kind === 'cancelled') return end;
      const waitMs = activity.isCancelled ? null : retryWaitMs(call.options, attempt, end);
      if (waitMs === null) return activity.isCancelled ? { kind: 'cancelled' } : end;
      await clock.sleep(waitMs);
      if (isLate()) return { kind: 'timed out' };
    }
  }

  function close(execution: Execution, status: CloseStatus): void {
    if (execution.closed) return;
    execution.closed = { status, at: clock.now() };
    endTask(execution);
    for (const timer of execution.timers.values()) timer.cancel();
    for (const { handle } of execution.activities.values()) handle?.abandon();
  }

  return {
    executions,
    open,
    tell,
    complete,
    fail,
    close,

    /** Requests the cancellation of an execution. */
    cancel(execution: Execution): void {
      if (execution.isCancelRequested) return;
      execution.isCancelRequested = true;
      tell(execution, jobOf('cancelWorkflow', { reason: 'requested' }));
    },

    openIds: () => [...executions.values()].filter(({ closed }) => closed === null).map(({ id }) => id),

    /** Pauses an execution in the Web UI; null: ends the pause. */
    setPause(execution: Execution, pause: Execution['pause']): void {
      execution.pause = pause;
      schedule(execution);
    },

    addWorker(worker: WorkflowWorker): void {
      workers.push(worker);
      this.assignAll();
    },
    removeWorker(worker: WorkflowWorker): void {
      workers.splice(workers.indexOf(worker), 1);
    },
    /** Hands waiting tasks to workers that are available again. */
    assignAll(): void {
      for (const execution of unassigned.splice(0))
        if (execution.task && !execution.closed) assign(execution);
    },

    /** Lets a worker answer a query, once no workflow task is in progress. */
    async query(execution: Execution, name: string): Promise<unknown> {
      while (execution.task || execution.events.length > 0) {
        if (execution.pause) throw new Error('the workflow is paused');
        if (execution.closed) break;
        await new Promise<void>((resolve) => execution.waiting.push(resolve));
      }
      const able = workers.filter(({ process }) => process.state === 'up');
      const known = able.find(({ process }) => process.name === execution.sticky);
      if (able.length === 0) throw new Error('no worker answers queries');
      return await (known ?? random.pick(able)).query(execution, name);
    },
  };
}

function taskOf(execution: Execution): WorkflowTask {
  const { events, length, history, failures } = execution;
  // A repeated task has the events of its start, which are not stored before it is completed.
  const historyLength = failures > 0 ? length + 2 : length;
  return { execution, given: [...events], historyLength, turns: history.length };
}

type Dependencies = {
  clock: Clock;
  random: Random;
  tasks: Tasks;
  delay: () => number;
  newId: (what: string) => string;
  /** Reports what happens, for the trace. */
  trace: (line: string) => void;
  /** Called when a workflow task is repeated. */
  onRepeat: (id: string) => void;
};

/** How often a waiting activity looks whether a pause is over, in milliseconds. */
const PAUSE_POLL_MS = 1_000;
/** Longest time of an activity without a limit, in milliseconds. */
const UNLIMITED_MS = 24 * 3_600_000;

type Scheduled = NonNullable<Command['scheduleActivity'] | Command['scheduleLocalActivity']>;

/** Returns the call of an activity that a workflow has scheduled. */
export function callOf(scheduled: Scheduled, args: unknown[], isLocal = false): ActivityCall {
  const { activityType, startToCloseTimeout, retryPolicy } = scheduled;
  const heartbeat = 'heartbeatTimeout' in scheduled ? scheduled.heartbeatTimeout : null;
  return {
    name: activityType ?? '',
    args,
    options: {
      ...(heartbeat ? { heartbeatTimeout: `${durationOf(heartbeat)} ms` } : {}),
      startToCloseTimeout: `${startToCloseTimeout ? durationOf(startToCloseTimeout) : UNLIMITED_MS} ms`,
      retry: {
        initialInterval: `${durationOf(retryPolicy?.initialInterval)} ms`,
        maximumInterval: `${durationOf(retryPolicy?.maximumInterval)} ms`,
      },
    },
    isLocal,
  };
}

/** Returns the result of an activity as the workflow gets it. */
export function resultOf(name: string, end: TaskEnd, isLate = false): object {
  if (end.kind === 'completed') return { completed: { result: payloadOf(end.result) } };
  const cause =
    end.kind === 'cancelled'
      ? new CancelledFailure('the activity was cancelled')
      : end.kind === 'failed'
        ? (end.error as Error)
        : new TimeoutFailure(
            'the activity timed out',
            undefined,
            isLate ? 'SCHEDULE_TO_CLOSE' : 'START_TO_CLOSE',
          );
  const error = new ActivityFailure('it failed', name, '1', RetryState.NON_RETRYABLE_FAILURE, '', cause);
  const failure = defaultFailureConverter.errorToFailure(error, defaultPayloadConverter);
  return end.kind === 'cancelled' ? { cancelled: { failure } } : { failed: { failure } };
}
