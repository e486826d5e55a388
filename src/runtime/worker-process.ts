import type { Logger } from 'pino';
import type { Sealing } from '../security/sealing.ts';
import { createTaskControl } from '../temporal/task-control.ts';
import { openEngine, openFoundation, openSealing, type Foundation } from './foundation.ts';
import { readinessOfWorkers } from './observation.ts';
import type { WorkerConfiguration } from './process-configuration.ts';
import type { Running } from './process.ts';
import type { Telemetry } from './telemetry.ts';
import type { Engine } from './temporal.ts';
import { openWorkers, type RunningWorker, type Workers } from './workers.ts';

/** What all work of a process shares. */
export type WorkerConnections = { foundation: Foundation; sealing: Sealing; engine: Engine };

/** Starts workers and everything that runs beside them. Returns the workers by their names in the readiness check. */
export type StartWork = (workers: Workers) => Promise<Record<string, RunningWorker>>;

/**
 * One kind of work, such as webhook deliveries. It opens what its workers need, which is closed with `closing` after all
 * workers of the process have stopped. Nothing polls before the returned function is called.
 */
export type OpenWork = (closing: AsyncDisposableStack, connections: WorkerConnections) => Promise<StartWork>;

/** Maximum number of connections to PostgreSQL for each kind of work. */
const CONNECTIONS = 10;

/**
 * Runs one or more kinds of work in this process. A `given` engine connection is not closed.
 * @throws if the database or Temporal is unreachable
 */
export async function startWorkerProcess(
  kinds: readonly OpenWork[],
  {
    given,
    ...common
  }: { configuration: WorkerConfiguration; log: Logger; telemetry: Telemetry; given?: Engine | undefined },
): Promise<Required<Running>> {
  await using opening = new AsyncDisposableStack();
  const foundation = await openFoundation(opening, { ...common, poolSize: CONNECTIONS * kinds.length });
  const sealing = await openSealing(foundation, common.configuration.sealingKeys);
  const engine = given ?? (await openEngine(opening, foundation));
  const starts: StartWork[] = [];
  for (const open of kinds) starts.push(await open(opening, { foundation, sealing, engine }));
  const workers = openWorkers(opening, foundation, engine);
  const started: Record<string, RunningWorker> = {};
  for (const start of starts) Object.assign(started, await start(workers));
  const { taskQueue } = common.configuration;
  const { ready } = createTaskControl({
    client: engine.client,
    taskQueue,
    eagerStart: false,
    searchable: false,
  });
  foundation.observation.setReadiness(() => readinessOfWorkers(foundation.database, ready, started));
  const closing = opening.move();
  return {
    stopped: Promise.race(Object.values(started).map(({ stopped }) => stopped)),
    close: () => closing.disposeAsync(),
  };
}
