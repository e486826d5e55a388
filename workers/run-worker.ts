import type { DataConverter } from '@temporalio/common';
import { type NativeConnection, Worker, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import type { CallbacksAtOnce } from '../src/activities/callbacks-at-once.ts';
import { createRehearsalActivities } from '../src/activities/rehearse.ts';
import { createRunRecords } from '../src/activities/run-records.ts';
import type { Catalogue } from '../src/agents/catalogue.ts';
import type { WorkersVersion } from '../src/configuration.ts';
import type { Database } from '../src/database/connect.ts';
import { TASK_STATES } from '../src/domain/task-states.ts';
import { measureRuns } from '../src/telemetry/measures.ts';
import { taskQueues } from '../src/workflows/messages.ts';
import type { Telemetry } from './telemetry.ts';
import { tracedWorker } from './tracing.ts';
import { versionOptions } from './versioning.ts';

type Needs = {
  connection: NativeConnection;
  namespace: string;
  dataConverter: DataConverter;
  /** The prefix of the task queues. */
  taskQueue: string;
  version: WorkersVersion | null;
  database: Database;
  catalogue: Catalogue;
  callBack: CallbacksAtOnce['callBack'];
  bundle: { codePath: string } | WorkflowBundleWithSourceMap;
  telemetry: Telemetry;
};

/**
 * Workflow tasks under way in one process. A short run is one workflow task from its start to its callback, and waits
 * for the database most of that time; what finds no place goes to another process over the task queue.
 */
const RUNS_AT_ONCE = 100;

/** A worker that polls until it is told to stop. */
export type RunningWorker = {
  /** Lets what is under way end, then resolves. */
  shutdown(): Promise<void>;
  /** Resolves when the worker has stopped; rejects when it broke. */
  stopped: Promise<void>;
  /** As the SDK calls it: RUNNING while it polls. */
  state(): string;
};

/**
 * The worker that runs the workflows and their short local activities. Task workers carry one, and so does every
 * API process, which is what lets a start be taken up at once by the process that made it.
 */
export async function startRunWorker(needs: Needs): Promise<RunningWorker> {
  const { connection, namespace, dataConverter, taskQueue, version, bundle, telemetry } = needs;
  const { database, catalogue, callBack } = needs;
  const onRecorded = runMeasuresOf(telemetry)?.onRecorded;
  const worker = await Worker.create({
    connection,
    namespace,
    dataConverter,
    taskQueue: taskQueues(taskQueue).runs,
    ...versionOptions(version),
    workflowBundle: bundle,
    ...tracedWorker(telemetry.tracing),
    activities: {
      ...createRunRecords({ database, catalogue, callBack, onRecorded }),
      ...createRehearsalActivities({ database, onRecorded }),
    },
    enableNonLocalActivities: false,
    maxConcurrentWorkflowTaskExecutions: RUNS_AT_ONCE,
    // What an abandoned worker held goes to another one after this.
    stickyQueueScheduleToStartTimeout: '5 s',
    shutdownGraceTime: '5 s',
  });
  return runningWorker(worker);
}

const runMeasures = new WeakMap<Telemetry, ReturnType<typeof measureRuns>>();

/** What counts the changes of runs in this process, once for all who write some; null where nothing is counted. */
export function runMeasuresOf(telemetry: Telemetry): ReturnType<typeof measureRuns> | null {
  if (telemetry.registry === null) return null;
  const measures = runMeasures.get(telemetry) ?? measureRuns(telemetry.registry, TASK_STATES);
  runMeasures.set(telemetry, measures);
  return measures;
}

/** Starts polling and answers the means to stop. */
export function runningWorker(worker: Worker): RunningWorker {
  const stopped = worker.run();
  // Whoever waits for `stopped` sees the rejection; nobody has to.
  stopped.catch(() => {});
  return {
    stopped,
    state: () => worker.getState(),
    async shutdown() {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await stopped;
    },
  };
}
