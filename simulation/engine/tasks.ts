import { asyncLocalStorage, Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure, noopMetricMeter } from '@temporalio/common';
import type { Clock, Process } from '../world/clock.ts';
import type { Random } from '../world/random.ts';
import type { ActivityCall } from './workflow-api.ts';

/** A worker: a process with activities. */
export type Worker = {
  process: Process;
  activities: Record<string, (...args: never[]) => Promise<unknown>>;
  /**
   * Called when an activity begins that the engine waits for. It no longer waits for the one that a frozen worker had got
   * before, and begins afterwards.
   */
  onBegin?: (name: string, args: readonly unknown[]) => void;
  /** Ends what outlives its activity, when the process stops. */
  close: () => Promise<void>;
};

/** How an attempt of an activity ended. `lost`: the workflow task that ran a local activity timed out. */
export type TaskEnd =
  | { kind: 'completed'; result: unknown }
  | { kind: 'failed'; error: unknown }
  | { kind: 'timed out' | 'lost' | 'cancelled' };

/** An attempt of an activity. */
export type TaskHandle = {
  ended: Promise<TaskEnd>;
  /** Asks the activity to end. It learns of that with its next heartbeat, and may complete nevertheless. */
  cancel(): void;
  /** Ends the attempt for the engine, although it may still be running. */
  abandon(): void;
};

type Task = {
  call: ActivityCall;
  workflowId: string;
  attempt: number;
  lastHeartbeat: number;
  isOver: boolean;
  isCancelRequested: boolean;
  cancel: AbortController;
  end: (end: TaskEnd) => void;
};

/** Interval of the check for lost workers, and time limit of a workflow task, in milliseconds. */
const WATCH_MS = 1_000;
const WORKFLOW_TASK_MS = 10_000;
/** Time that a worker that stops gives its activities before it cancels them, in milliseconds. */
export const GRACE_MS = 5_000;

/**
 * Runs activities on workers, at least once. An attempt without heartbeats, or beyond its time limit, is repeated, although
 * it may still be running. It learns of that with its next heartbeat.
 */
export function createTasks(clock: Clock, random: Random, delay: () => number) {
  const workers: Worker[] = [];
  const waiting: Task[] = [];
  /** The tasks that each worker has got, and whose code has not ended. */
  const running = new Map<Worker, Map<Task, Promise<void>>>();
  const runningOf = (worker: Worker) => {
    const tasks = running.get(worker) ?? new Map<Task, Promise<void>>();
    running.set(worker, tasks);
    return tasks;
  };

  function begin(call: ActivityCall, workflowId: string, attempt: number): TaskHandle {
    const { promise, resolve } = Promise.withResolvers<TaskEnd>();
    const cancel = new AbortController();
    const state = { lastHeartbeat: 0, isOver: false, isCancelRequested: false };
    const task: Task = { call, workflowId, attempt, ...state, cancel, end };
    function end(how: TaskEnd): void {
      if (task.isOver) return;
      task.isOver = true;
      resolve(how);
    }
    waiting.push(task);
    assignAll();
    return {
      ended: promise,
      cancel() {
        task.isCancelRequested = true;
        const index = waiting.indexOf(task);
        if (index === -1) return;
        waiting.splice(index, 1);
        end({ kind: 'cancelled' });
      },
      abandon() {
        const index = waiting.indexOf(task);
        if (index !== -1) waiting.splice(index, 1);
        end({ kind: 'lost' });
      },
    };
  }

  function assignAll(): void {
    const able = workers.filter(({ process }) => process.state === 'up');
    while (able.length > 0 && waiting.length > 0) {
      const task = waiting.shift() as Task;
      assign(task, random.pick(able));
    }
  }

  function assign(task: Task, worker: Worker): void {
    const { options, isLocal } = task.call;
    const limitMs = msOf(options.startToCloseTimeout);
    const heartbeatMs = options.heartbeatTimeout ? msOf(options.heartbeatTimeout) : Number.POSITIVE_INFINITY;
    task.lastHeartbeat = clock.now();
    const { promise, resolve } = Promise.withResolvers<void>();
    runningOf(worker).set(task, promise);
    clock.after(delay(), worker.process, () => void runTask(task, worker, limitMs).then(resolve));
    let goneSince: number | null = null;
    const watch = (): void => {
      if (task.isOver) return;
      const now = clock.now();
      goneSince = worker.process.state === 'up' ? null : (goneSince ?? now);
      const isGone = goneSince !== null && now - goneSince >= WORKFLOW_TASK_MS;
      if (isLocal && isGone) return task.end({ kind: 'lost' });
      if (!isLocal && now - task.lastHeartbeat > heartbeatMs) return task.end({ kind: 'timed out' });
      clock.after(WATCH_MS, null, watch);
    };
    clock.after(WATCH_MS, null, watch);
    if (!isLocal) clock.after(limitMs, null, () => task.end({ kind: 'timed out' }));
  }

  async function runTask(task: Task, worker: Worker, limitMs: number): Promise<void> {
    const { call, cancel } = task;
    const respond = (end: TaskEnd) => clock.after(delay(), null, () => task.end(end));
    const expire = () => {
      cancel.abort(new CancelledFailure('TIMED_OUT'));
      respond({ kind: 'timed out' });
    };
    // The worker itself limits local activities.
    const limit = call.isLocal ? clock.after(limitMs, worker.process, expire) : null;
    const activity = worker.activities[call.name];
    if (!activity) throw new Error(`there is no activity ${call.name}`);
    if (!task.isOver) worker.onBegin?.(call.name, call.args);
    try {
      const context = contextOf(task, () => heartbeat(task, worker));
      const result = await asyncLocalStorage.run(context, () => activity(...(call.args as never[])));
      respond({ kind: 'completed', result });
    } catch (error) {
      const isAborted = cancel.signal.aborted && isAbort(error);
      if (isAborted && task.isCancelRequested) respond({ kind: 'cancelled' });
      else respond({ kind: 'failed', error: isAborted ? workerShutdown() : error });
    }
    limit?.cancel();
    runningOf(worker).delete(task);
  }

  function heartbeat(task: Task, worker: Worker): void {
    clock.after(delay(), null, () => {
      task.lastHeartbeat = clock.now();
      if (task.isOver || task.isCancelRequested)
        clock.after(delay(), worker.process, () => task.cancel.abort(new CancelledFailure('NOT_FOUND')));
    });
  }

  return {
    addWorker(worker: Worker): void {
      workers.push(worker);
      assignAll();
    },
    removeWorker(worker: Worker): void {
      workers.splice(workers.indexOf(worker), 1);
    },
    /**
     * Gives a worker that stops no more tasks. Cancels its activities after a grace period, but no local ones. Resolves when
     * all have ended.
     */
    async stopWorker(worker: Worker): Promise<void> {
      this.removeWorker(worker);
      const tasks = runningOf(worker);
      clock.after(GRACE_MS, worker.process, () => {
        for (const { call, cancel } of tasks.keys())
          if (!call.isLocal) cancel.abort(new CancelledFailure('WORKER_SHUTDOWN'));
      });
      await Promise.all(tasks.values());
    },
    /** Assigns waiting tasks to workers that are available again. */
    assignAll,
    workers,

    begin,
  };
}

export type Tasks = ReturnType<typeof createTasks>;

/** Returns the wait after a failed attempt in milliseconds; null if there is no other attempt. */
export function retryWaitMs(
  { retry }: ActivityCall['options'],
  attempt: number,
  end: TaskEnd,
): number | null {
  if (end.kind === 'lost') return 0;
  const failure = end.kind === 'failed' && end.error instanceof ApplicationFailure ? end.error : null;
  if (failure?.nonRetryable) return null;
  const { nextRetryDelay } = failure ?? {};
  if (typeof nextRetryDelay === 'number') return nextRetryDelay;
  return Math.min(msOf(retry.maximumInterval), msOf(retry.initialInterval) * 2 ** (attempt - 1));
}

/** What Temporal's SDK reports for an activity that ended because its worker stops. The activity is repeated. */
function workerShutdown(): ApplicationFailure {
  return ApplicationFailure.retryable('the worker is shutting down', 'WorkerShutdown');
}

function isAbort(error: unknown): boolean {
  return error instanceof CancelledFailure || (error as Error | null)?.name === 'AbortError';
}

/** Returns the context in which an activity runs. */
export function contextOf(
  task: Pick<Task, 'attempt' | 'workflowId' | 'cancel'>,
  heartbeat: () => void,
): Context {
  const { signal } = task.cancel;
  const cancelled = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  cancelled.catch(() => {});
  const info = { attempt: task.attempt, workflowExecution: { workflowId: task.workflowId, runId: 'run' } };
  return new Context(
    info as Context['info'],
    cancelled,
    signal,
    heartbeat,
    undefined,
    console,
    noopMetricMeter,
    {},
  );
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000 };

/** Returns the milliseconds of a text such as `8 s`. */
export function msOf(text: string): number {
  const [amount = '', unit = ''] = text.split(' ');
  const ms = Number(amount) * (UNITS[unit] ?? Number.NaN);
  if (Number.isNaN(ms)) throw new Error(`${text} is not a duration`);
  return ms;
}
