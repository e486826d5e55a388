import { refuseDispatch, type DispatchActivities } from '../activities/deliveries/dispatch.ts';
import { createRehearsalActivities } from '../activities/rehearse.ts';
import { createRunRecords } from '../activities/run-records.ts';
import type { Catalogue } from '../agents/catalogue.ts';
import { TASK_STATES } from '../domain/tasks/task-states.ts';
import { createRunMetrics } from '../telemetry/event-metrics.ts';
import type { Callbacks } from './callbacks.ts';
import type { Foundation } from './foundation.ts';
import type { Telemetry } from './telemetry.ts';
import type { RunningWorker, Workers } from './workers.ts';

/**
 * Maximum number of concurrent workflow tasks in one process. A short run is one workflow task from start to
 * callback, and waits for the database most of that time. Further tasks go to other processes over the task queue.
 */
const RUNS_AT_ONCE = 100;

/** What the worker of runs uses. `dispatchGroup`: dispatches events in this process; without it, a delivery worker does. */
type RunWorkerDependencies = Pick<Callbacks, 'callBack'> & {
  catalogue: Catalogue;
  dispatchGroup?: DispatchActivities['dispatchGroup'] | undefined;
};

/**
 * Starts the worker of workflows and their short local activities. Task workers have one, and so does each API
 * process: Temporal hands an eager start to a worker of the process that requested it.
 */
export async function startRunWorker(
  workers: Workers,
  { database, telemetry }: Foundation,
  { catalogue, callBack, dispatchGroup = refuseDispatch }: RunWorkerDependencies,
): Promise<RunningWorker> {
  const onRecorded = runMetricsOf(telemetry)?.onRecorded;
  return await workers.start('runs', {
    workflowBundle: await workers.bundle(),
    activities: {
      ...createRunRecords({ database, catalogue, callBack, onRecorded }),
      ...createRehearsalActivities({ database, onRecorded }),
      dispatchGroup,
    },
    enableNonLocalActivities: false,
    maxConcurrentWorkflowTaskExecutions: RUNS_AT_ONCE,
  });
}

const runMetrics = new WeakMap<Telemetry, ReturnType<typeof createRunMetrics>>();

/** Returns the metrics of runs in this process, the same for all callers; null without metrics. */
export function runMetricsOf(telemetry: Telemetry): ReturnType<typeof createRunMetrics> | null {
  if (telemetry.registry === null) return null;
  const metrics = runMetrics.get(telemetry) ?? createRunMetrics(telemetry.registry, TASK_STATES);
  runMetrics.set(telemetry, metrics);
  return metrics;
}
