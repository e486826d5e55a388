import { asyncLocalStorage } from '@temporalio/activity';
import type { ActivityCall } from '../../engine/workflow-api.ts';
import { contextOf, msOf, retryWaitMs, type TaskEnd, type Worker } from '../../engine/tasks.ts';
import type { Clock } from '../../world/clock.ts';
import {
  closeOf,
  inOrder,
  jobOf,
  textOf,
  type Execution,
  type TaskResult,
  type WorkflowTask,
} from './executions.ts';
import { createInstance, valueOf, type Command, type Instance, type Job } from './instance.ts';
import { callOf, resultOf, WORKFLOW_TASK_MS, type Server, type WorkflowWorker } from './server.ts';

/**
 * A workflow in the memory of a worker. `turns`: how many recorded activations it has run. `isBusy`: whether it has run more
 * than these, in a task that is not stored yet.
 */
type Cached = {
  instance: Instance;
  turns: number;
  isBusy: boolean;
  /** Local activities in progress, and the results that the workflow has not got yet. */
  local: number;
  resolved: Job[];
  wake: () => void;
  isEvicted: boolean;
};

type Dependencies = {
  clock: Clock;
  worker: Worker;
  server: Pick<Server, 'complete' | 'fail'>;
  workflows: Readonly<Record<string, unknown>>;
  taskQueue: string;
  /** Makes a request of this worker to the engine. */
  request: <T>(work: () => T) => Promise<T>;
  /** Called if the code of a workflow throws, or does something else than before when it is repeated. */
  onBroken: (what: string) => void;
};

/** Part of the time limit of a workflow task after which the worker asks for more time. */
const HEARTBEAT_MS = 0.8 * WORKFLOW_TASK_MS;

/**
 * Runs workflow code in a worker, as Temporal's SDK does. Local activities run in the worker, during the workflow task. If the
 * worker dies before the task is stored, another worker repeats the code from the last stored task, with everything that
 * has arrived since.
 */
export function createWorkflowWorker(deps: Dependencies): WorkflowWorker {
  const { clock, worker, server, workflows, taskQueue, request, onBroken } = deps;
  const cache = new Map<string, Cached>();
  /** Workflow tasks and local activities in progress. */
  const inProgress = new Set<Promise<unknown>>();
  function watch(work: Promise<unknown>): void {
    inProgress.add(work);
    void work.finally(() => inProgress.delete(work));
  }
  const activityNames = new Set(Object.keys(worker.activities));

  async function take(task: WorkflowTask): Promise<void> {
    const { execution } = task;
    let cached: Cached | null = null;
    try {
      cached = findIdle(task);
      if (!cached) {
        const replayed = await replay(execution, task.turns);
        ({ cached } = replayed);
        // Local activities without a stored result begin again.
        for (const command of replayed.unresolved) startLocal(cached, execution, command);
      }
      cache.set(execution.runId, cached);
      cached.isBusy = true;
      const isStored = await advance(cached, task);
      cached.isBusy = false;
      if (!isStored) evict(execution, cached);
    } catch (error) {
      if (cached) evict(execution, cached);
      onBroken(`${execution.type} ${execution.id}: ${String(error)}`);
    }
  }

  function evict({ runId }: Execution, cached: Cached): void {
    cached.isEvicted = true;
    if (cache.get(runId) === cached) cache.delete(runId);
  }

  /** Returns the workflow in memory, if it has run exactly what is stored. */
  function findIdle({ execution, turns }: Pick<WorkflowTask, 'execution' | 'turns'>): Cached | null {
    const known = cache.get(execution.runId);
    if (known && !known.isBusy && known.turns === turns) return known;
    if (known) evict(execution, known);
    return null;
  }

  /** Repeats the first recorded activations. `unresolved`: local activities that had no result in them. */
  async function replay(
    execution: Execution,
    turns: number,
  ): Promise<{ cached: Cached; unresolved: Iterable<Command> }> {
    const { id: workflowId, runId, continuedFrom, type, startedAt, patches } = execution;
    const workflow = workflows[type] as Parameters<typeof createInstance>[1]['workflow'] | undefined;
    if (!workflow) throw new Error(`there is no workflow ${type}`);
    const instance = createInstance(clock, {
      workflow,
      workflowId,
      runId,
      continuedFrom,
      type,
      taskQueue,
      startedAt,
      patches,
      activityNames,
    });
    const state = { turns: 0, isBusy: false, local: 0, resolved: [], isEvicted: false };
    const cached: Cached = { instance, ...state, wake: () => {} };
    const local = new Map<number, Command>();
    for (const activation of execution.history.slice(0, turns)) {
      const commands = await instance.run(activation, true);
      if (textOf(commands) !== activation.commands)
        throw new Error(`a replay did "${textOf(commands)}" instead of "${activation.commands}"`);
      cached.turns += 1;
      for (const { resolveActivity } of activation.jobs)
        local.delete((resolveActivity as { seq: number } | undefined)?.seq ?? 0);
      for (const command of commands)
        if (command.scheduleLocalActivity) local.set(command.scheduleLocalActivity.seq ?? 0, command);
    }
    return { cached, unresolved: local.values() };
  }

  /** Runs the code until it waits for the engine. Returns whether it may stay in memory. */
  async function advance(cached: Cached, first: WorkflowTask): Promise<boolean> {
    let task = first;
    let jobs = inOrder(task.given);
    let done: TaskResult = { activations: [], commands: [], keepsGoing: false };
    let heartbeatAt = clock.now() + HEARTBEAT_MS;
    for (;;) {
      if (jobs.length > 0) {
        const activation = { at: Math.floor(clock.now()), historyLength: task.historyLength, jobs };
        const commands = await cached.instance.run(activation, false);
        done.activations.push({ ...activation, commands: textOf(commands) });
        done.commands.push(...commands.filter((command) => !startLocal(cached, task.execution, command)));
      }
      const isOver = closeOf(done.commands) !== null || (cached.local === 0 && cached.resolved.length === 0);
      if (!isOver && (await nextResolved(cached, heartbeatAt))) {
        jobs = cached.resolved.splice(0, 1);
        continue;
      }
      const result = { ...done, keepsGoing: !isOver };
      const next = await request(() => server.complete(task, result)).catch(() => 'rejected' as const);
      if (next === 'rejected' || cached.isEvicted) return false;
      cached.turns += result.activations.length;
      if (next === null) return true;
      task = next;
      jobs = inOrder(task.given);
      done = { activations: [], commands: [], keepsGoing: false };
      heartbeatAt = clock.now() + HEARTBEAT_MS;
    }
  }

  /** Waits for the result of a local activity. Returns false if the task needs more time. */
  async function nextResolved(cached: Cached, heartbeatAt: number): Promise<boolean> {
    if (cached.resolved.length > 0) return true;
    await new Promise<void>((resolve) => {
      const timer = clock.after(heartbeatAt - clock.now(), worker.process, resolve);
      cached.wake = () => {
        timer.cancel();
        resolve();
      };
    });
    return cached.resolved.length > 0;
  }

  /** Starts a local activity. Returns false for another command. */
  function startLocal(cached: Cached, { id }: Execution, { scheduleLocalActivity: local }: Command): boolean {
    if (!local) return false;
    const call = callOf(local, (local.arguments ?? []).map(valueOf), true);
    cached.local += 1;
    void runLocal(cached, call, id).then((end) => {
      cached.local -= 1;
      cached.resolved.push(
        jobOf('resolveActivity', { seq: local.seq ?? 0, isLocal: true, result: resultOf(call.name, end) }),
      );
      cached.wake();
    });
    return true;
  }

  async function runLocal(cached: Cached, call: ActivityCall, workflowId: string): Promise<TaskEnd> {
    for (let attempt = 1; ; attempt += 1) {
      const end = await attemptLocal(call, workflowId, attempt);
      if (cached.isEvicted) return await new Promise<never>(() => {});
      const waitMs = end.kind === 'completed' ? null : retryWaitMs(call.options, attempt, end);
      if (waitMs === null) return end;
      await clock.sleep(waitMs);
    }
  }

  async function attemptLocal(call: ActivityCall, workflowId: string, attempt: number): Promise<TaskEnd> {
    const activity = worker.activities[call.name];
    if (!activity) throw new Error(`there is no activity ${call.name}`);
    const cancel = new AbortController();
    const context = contextOf({ attempt, workflowId, cancel }, () => {});
    const { promise: late, resolve } = Promise.withResolvers<TaskEnd>();
    const limit = clock.after(msOf(call.options.startToCloseTimeout), worker.process, () => {
      cancel.abort();
      resolve({ kind: 'timed out' });
    });
    const work = async (): Promise<TaskEnd> => {
      try {
        const run = () => activity(...(call.args as never[]));
        return { kind: 'completed', result: await asyncLocalStorage.run(context, run) };
      } catch (error) {
        return { kind: 'failed', error };
      }
    };
    const working = work();
    watch(working);
    const end = await Promise.race([working, late]);
    limit.cancel();
    return end;
  }

  return {
    process: worker.process,
    take: (task) => watch(take(task)),
    async idle() {
      while (inProgress.size > 0) await Promise.all(inProgress);
    },
    async query(execution, name) {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const answer = async () => {
        const known = cache.get(execution.runId);
        const { length: turns } = execution.history;
        const isIdle = known && !known.isBusy && known.turns === turns;
        const { instance } = isIdle ? known : (await replay(execution, turns)).cached;
        return await instance.query(name);
      };
      clock.after(1, worker.process, () => void answer().then(resolve, reject));
      return await promise;
    },
  };
}
