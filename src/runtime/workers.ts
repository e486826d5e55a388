import { Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { taskQueues } from '../temporal/task-messages.ts';
import { agentsBundle, workflowBundle } from './bundle.ts';
import type { Foundation } from './foundation.ts';
import { failOnRefusedData } from './refused-data.ts';
import type { Engine } from './temporal.ts';
import { tracedWorker } from './tracing.ts';
import { versionOptions } from './versioning.ts';

/** A running worker. */
export type RunningWorker = {
  /** Waits for running tasks, then resolves. */
  shutdown(): Promise<void>;
  /** Resolves when the worker has stopped; rejects after an error. */
  stopped: Promise<void>;
  /** The state of the SDK: RUNNING while it polls. */
  state(): string;
};

/** The workers of one process. */
export type Workers = {
  /** Creates a worker for one of the task queues and starts polling. `also` is closed after the worker has stopped. */
  start(
    queue: keyof ReturnType<typeof taskQueues>,
    options: Omit<WorkerOptions, 'connection' | 'namespace' | 'taskQueue'>,
    also?: () => Promise<void>,
  ): Promise<RunningWorker>;
  /** The bundle of the workflows of runs and deliveries, which is looked for once. */
  bundle(): ReturnType<typeof workflowBundle>;
  /** The bundle of the workflows of agents, which bring the AI SDK. */
  agentsBundle(): ReturnType<typeof agentsBundle>;
};

/** How long a shutdown waits for running tasks. */
const GRACE = '5 s';
/** After this, another worker takes over the workflows that an abandoned worker held. */
const ABANDONED = '5 s';

/** Prepares the workers of a process. `closing` shuts them down concurrently. */
export function openWorkers(
  closing: AsyncDisposableStack,
  { configuration: { taskQueue, version }, telemetry: { tracing } }: Foundation,
  { connection, namespace, dataConverter = {} }: Engine,
): Workers {
  const { sinks, activity } = tracedWorker(tracing);
  const running: (() => Promise<void>)[] = [];
  let bundle: ReturnType<typeof workflowBundle> | null = null;
  closing.defer(async () => void (await Promise.allSettled(running.map((shutdown) => shutdown()))));
  return {
    async start(queue, options, also = async () => {}) {
      const worker = runningWorker(
        await Worker.create({
          connection,
          namespace,
          dataConverter,
          taskQueue: taskQueues(taskQueue)[queue],
          ...versionOptions(version),
          sinks,
          interceptors: { activity: [() => ({ inbound: failOnRefusedData }), ...activity] },
          stickyQueueScheduleToStartTimeout: ABANDONED,
          shutdownGraceTime: GRACE,
          ...options,
        }),
      );
      running.push(async () => {
        await worker.shutdown();
        await also();
      });
      return worker;
    },
    bundle: () => (bundle ??= workflowBundle(Runtime.instance().logger, dataConverter, tracing !== null)),
    agentsBundle: () => agentsBundle(Runtime.instance().logger, dataConverter, tracing !== null),
  };
}

function runningWorker(worker: Worker): RunningWorker {
  const stopped = worker.run();
  // A caller that waits for `stopped` sees the rejection. Without one it is not an unhandled rejection.
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
