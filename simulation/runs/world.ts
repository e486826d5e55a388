import {
  recordEnds,
  recordPauses,
  signalPauses,
  startUnsentCallbacks,
  startUnstartedCallbackRetries,
  startUnstartedRuns,
  sweep,
  type Dependencies as ReconcilerDependencies,
} from '../../src/reconciler/reconcile.ts';
import { createTaskControl } from '../../src/temporal/task-control.ts';
import { TASK_RUN_WORKFLOW, type TaskRunInput } from '../../src/temporal/task-messages.ts';
import { callbackRetry, taskCallback } from '../../src/workflows/task-callback.ts';
import { taskRun } from '../../src/workflows/task-run.ts';
import { LATENCY_MS, requestsTo } from '../engine/engine.ts';
import { createTasks, type Worker } from '../engine/tasks.ts';
import { SILENT, startReconciler, type Parts } from '../reconciler.ts';
import { createTransactions, STORE_LATENCY_MS } from '../store/memory-store.ts';
import { describeStep, isFault } from '../story.ts';
import { createProcess, type Clock, type Process } from '../world/clock.ts';
import { createFaults } from '../world/faults.ts';
import { createRandom } from '../world/random.ts';
import { createReceivers, NETWORK_MS } from '../world/receivers.ts';
import { stopProcess } from '../world/stopping.ts';
import {
  BEGIN,
  LAST_REQUESTS_MS,
  tellStory,
  type Journal,
  type Outcome,
  type World,
} from '../world/tell-story.ts';
import { createCallers } from './callers.ts';
import { createClient, createInspector } from './engine/client.ts';
import { createServer, type WorkflowWorker } from './engine/server.ts';
import { createWorkflowWorker } from './engine/workflow-worker.ts';
import { createCallbackObserver } from './callback-observer.ts';
import { createRunObserver } from './observer.ts';
import { asDatabase, createRunTables, type RunTables } from './store/tables.ts';
import type { RunStep, RunStory } from './story.ts';
import { startRunWorker } from './worker.ts';

/** Time after the last step, and after all faults, when people continue the runs that are still paused. */
const PATIENCE_MS = 15 * 60_000;
/** Time in which the reconciler records what an operator did, in milliseconds. Its turns are rarer than in production. */
const VISIBLE_MS = 6_000;

const TASK_QUEUE = 'simulated';
const WORKFLOWS = { taskRun, taskCallback, callbackRetry };
const PARTS: Parts<ReconcilerDependencies> = {
  everyTurn: [recordPauses, signalPauses, recordEnds, startUnstartedRuns],
  everySweep: [sweep, startUnsentCallbacks, startUnstartedCallbackRetries],
};

/** Runs a story about runs and callbacks in a world of its own. */
export async function runRunStory(story: RunStory): Promise<Outcome> {
  return await tellStory(story.seed, (clock, journal) => createWorld(story, clock, journal));
}

function createWorld(story: RunStory, clock: Clock, { trace, report, newId }: Journal): World {
  const { seed, historyEvents, answeredAfterMs, steps } = story;
  const tables = createRunTables();
  const faultsUntil = lastFault(steps);
  const slackMs = 2 * STORE_LATENCY_MS * 20 + 2 * NETWORK_MS + 10;
  const onQuestion = (id: string) => {
    if (answeredAfterMs !== null) clock.after(answeredAfterMs, null, () => callers.act('continue', id));
  };
  const observer = createRunObserver({ clock, tables, faultsUntil, onQuestion, report });
  const callbacks = createCallbackObserver({
    clock,
    tables,
    isCalm:
      faultsUntil === Number.NEGATIVE_INFINITY && !steps.some(({ kind }) => kind === 'terminate callback'),
    slackMs,
    wasChangedInTemporal: observer.wasChangedInTemporal,
    report,
  });
  const storeFaults = createFaults(clock, createRandom(`store ${seed}`));
  const engineFaults = createFaults(clock, createRandom(`engine ${seed}`));
  const transact = createTransactions({ clock, faults: storeFaults }, (commit, step) => {
    const result = observer.around(commit, step);
    callbacks.onCommit({ ...commit, result });
    if (commit.name === 'insertRun') callers.onStored((commit.given[0] as { id: string }).id);
    if (!/^(read|list|find)/.test(commit.name))
      trace(`${commit.by?.name ?? 'world'} ${commit.name} ${stateOf(tables)}`);
    return result;
  });
  const memory = { tables, transact };
  const database = asDatabase(memory);

  const random = createRandom(`tasks ${seed}`);
  const delay = () => engineFaults.delay(LATENCY_MS);
  const tasks = createTasks(clock, random, delay);
  const server = createServer({ clock, random, tasks, delay, newId, trace, onRepeat: observer.onRepeat });
  const engine = { clock, faults: engineFaults, server };
  const client = createClient({
    ...engine,
    withArgs: ([input, ...rest]) => [
      { ...(input as TaskRunInput), ...(historyEvents ? { historyEvents } : {}) },
      ...rest,
    ],
    onSignal(id, name, [request]) {
      trace(`the engine accepts ${name} of ${id}`);
      observer.onSignal(id, name, request);
    },
  });
  const control = createTaskControl({ client, taskQueue: TASK_QUEUE, eagerStart: false, searchable: true });
  const receivers = createReceivers(clock, createRandom(`receivers ${seed}`), {
    onSend: callbacks.onSend,
    onArrival: ({ by, deliveryId, webhookId }) =>
      trace(`${by.name} request of ${deliveryId} arrives at ${webhookId}`),
    onResponse: callbacks.onResponse,
  });
  for (const [index, mode] of story.receivers.entries()) receivers.setMode(`receiver-${index}`, mode);

  type RunningWorker = { worker: Worker; workflows: WorkflowWorker };
  let workers: RunningWorker[] = [];
  let started = 0;
  const addWorker = () => {
    const name = `worker-${(started += 1)}`;
    const worker = startRunWorker(name, { clock, database, receivers, newId, onStep: observer.onStep });
    const workflows = createWorkflowWorker({
      clock,
      worker,
      server,
      workflows: WORKFLOWS,
      taskQueue: `${TASK_QUEUE}-runs`,
      request: requestsTo(clock, engineFaults),
      onBroken: (what) => report('accepted', what),
    });
    workers.push({ worker, workflows });
    tasks.addWorker(worker);
    server.addWorker(workflows);
  };

  let api: Process | null = createProcess('api-1');
  const callers = createCallers({
    clock,
    memory,
    control,
    newId,
    trace,
    api: () => api,
    onAnswer: observer.onAnswer,
  });
  const reconciler = startReconciler(clock, createProcess('reconciler'), PARTS, {
    runsKeptDays: 90,
    database,
    engine: { ...createInspector(engine), hasOpenDispatch: async () => false },
    control,
    clock: () => new Date(),
    log: SILENT,
  });
  for (let count = 0; count < story.workers; count += 1) addWorker();

  /** Ends a worker; another one starts later. */
  function crash({ worker, workflows }: RunningWorker, forMs: number): void {
    clock.kill(worker.process);
    tasks.removeWorker(worker);
    server.removeWorker(workflows);
    workers = workers.filter((one) => one.worker !== worker);
    clock.after(forMs, null, addWorker);
  }

  /** Stops a worker as SIGTERM does; another one starts later. */
  function stop({ worker, workflows }: RunningWorker, forMs: number): void {
    server.removeWorker(workflows);
    workers = workers.filter((one) => one.worker !== worker);
    const stoppedAt = clock.now();
    const close = async () => {
      const activities = tasks.stopWorker(worker);
      // The tasks that the engine has just handed out arrive.
      await clock.sleep(2 * LATENCY_MS);
      await Promise.all([activities, workflows.idle()]);
      await worker.close();
    };
    stopProcess(clock, worker.process, close, () =>
      callbacks.onExit(worker.process, clock.now() - stoppedAt),
    );
    clock.after(forMs, null, addWorker);
  }

  function freeze({ worker: { process } }: RunningWorker, forMs: number): void {
    clock.freeze(process);
    clock.after(forMs, null, () => {
      clock.thaw(process);
      tasks.assignAll();
      server.assignAll();
    });
  }

  function crashApi(forMs: number): void {
    if (api) clock.kill(api);
    api = null;
    clock.after(forMs, null, () => (api ??= createProcess('api-2')));
  }

  function stopApi(forMs: number): void {
    const process = api;
    api = null;
    if (process) stopProcess(clock, process, () => callers.stop(process));
    clock.after(forMs, null, () => (api ??= createProcess('api-2')));
  }

  /** Terminates a workflow of a callback or of its manual retry, counted from the newest. */
  function terminateCallback(index: number): void {
    const open = [...server.executions.values()].filter(
      ({ type, closed }) => closed === null && type !== TASK_RUN_WORKFLOW,
    );
    const execution = open.at(-1 - (index % Math.max(1, open.length)));
    if (!execution) return;
    trace(`an operator terminates ${execution.id}`);
    server.close(execution, 'TERMINATED');
  }

  /** Does what an operator does in the Web UI. */
  function operate(kind: string, id: string): void {
    const execution = server.executions.get(id);
    if (!execution || execution.closed) return;
    observer.onOperation(id);
    if (kind === 'pause in Temporal')
      server.setPause(execution, { pausedAt: new Date(), by: 'temporal: operator' });
    else if (kind === 'terminate') {
      server.close(execution, 'TERMINATED');
      if (faultsUntil === Number.NEGATIVE_INFINITY) clock.after(VISIBLE_MS, null, () => checkVisible(id));
    } else server.cancel(execution);
  }

  function checkVisible(id: string): void {
    const row = tables.runs.get(id);
    if (row && !row.completed_at) report('operator', `${id} was terminated, but is ${row.state}`);
  }

  function take(step: RunStep): void {
    if (isFault(step.kind)) return fail(step);
    if (step.kind === 'submit') return callers.submit(step.task, story.receivers.length);
    if (step.kind === 'receiver')
      return receivers.setMode(`receiver-${step.receiver % story.receivers.length}`, step.mode);
    if (step.kind === 'retry') return callers.retry(step.run);
    if (step.kind === 'terminate callback') return terminateCallback(step.workflow);
    const id = 'run' in step ? callers.runAt(step.run) : null;
    if (id === null) return;
    switch (step.kind) {
      case 'pause':
      case 'continue':
      case 'cancel':
        return callers.act(step.kind, id);
      case 'read':
        return callers.read(id);
      default:
        return operate(step.kind, id);
    }
  }

  function fail(step: RunStep): void {
    const worker = 'worker' in step ? workers[step.worker % Math.max(1, workers.length)] : undefined;
    if (step.kind === 'crash' && worker) crash(worker, step.forMs);
    if (step.kind === 'freeze' && worker) freeze(worker, step.forMs);
    if (step.kind === 'api crash') crashApi(step.forMs);
    if (step.kind === 'stop' && worker) stop(worker, step.forMs);
    if (step.kind === 'api stop') stopApi(step.forMs);
    if (step.kind === 'store fails') storeFaults.begin(step.forMs, step.probability);
    if (step.kind === 'engine fails') engineFaults.begin(step.forMs, step.probability);
  }

  let stepsLeft = steps.length;
  const lastAt = Math.max(...steps.map(({ at }) => at), 0);
  for (const step of steps) {
    clock.after(step.at, null, () => {
      stepsLeft -= 1;
      trace(`STEP ${describeStep(step).trim()}`);
      take(step);
      reconciler.wake();
    });
  }
  /** The operator ends all pauses. Then callers continue everything that is still paused, as often as it asks. */
  const continueAll = (): void => {
    const paused = [...server.executions.values()].filter(({ pause }) => pause !== null);
    for (const execution of paused) server.setPause(execution, null);
    if (paused.length === 0) {
      observer.onLastRequests();
      for (const { id, completed_at: end, state } of tables.runs.values())
        if (end === null && state === 'paused') callers.act('continue', id);
    }
    reconciler.wake();
    if (!isQuiet()) clock.after(PATIENCE_MS, null, continueAll);
  };
  clock.after(Math.max(lastAt, faultsUntil - BEGIN) + PATIENCE_MS, null, continueAll);

  const left = () => [...leftIn(tables), ...server.openIds()].join(' ');
  const isQuiet = () => stepsLeft === 0 && !callers.isWaiting() && left() === '';

  return {
    lastAt,
    isQuiet,
    atEnd: [() => observer.onEnd(isQuiet(), left()), callbacks.onEnd],
  };
}

/** Returns the time after which nothing fails any more; negative infinity if nothing ever does. */
function lastFault(steps: readonly RunStep[]): number {
  const ends = steps.flatMap((step) =>
    'forMs' in step ? BEGIN + step.at + step.forMs + LAST_REQUESTS_MS : [],
  );
  return Math.max(Number.NEGATIVE_INFINITY, ...ends);
}

/** Returns what waits in the tables, in words. */
function leftIn({ runs }: RunTables): string[] {
  return [...runs.values()].flatMap(
    ({ id, state, completed_at: end, callback_status, callback_retry_id }) => {
      if (end === null) return [`${state} ${id}`];
      if (callback_status === 'pending') return [`callback of ${id}`];
      return callback_retry_id ? [`callback retry of ${id}`] : [];
    },
  );
}

/** Returns the runs in short: the beginning of the state, the last event and the attempts of each callback. */
function stateOf({ runs, attempts }: RunTables): string {
  return [...runs.values()]
    .map(({ id, state, last_seq: seq, callback_status: status }) => {
      const made = attempts.get(id)?.length ?? 0;
      return `${state.slice(0, 2)}${seq}/${status[0]}${made}`;
    })
    .join(' ');
}
