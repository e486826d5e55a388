import type { Logger } from 'pino';
import type { EngineTime } from '../src/activities/deliveries/attempts.ts';
import { startNotifications } from '../src/database/common/notifications.ts';
import { readProcessConfiguration, type WorkerConfiguration } from '../src/runtime/process-configuration.ts';
import { openDeliveries } from '../src/runtime/delivery-activities.ts';
import { openEngine, openFoundation, openSealing } from '../src/runtime/foundation.ts';
import { openMaintenance, scheduleRetention } from '../src/runtime/maintenance.ts';
import { readinessOfWorkers } from '../src/runtime/observation.ts';
import { runProcess, type Running } from '../src/runtime/process.ts';
import { NO_TELEMETRY, type Telemetry } from '../src/runtime/telemetry.ts';
import { installRuntime, type Engine } from '../src/runtime/temporal.ts';
import { openWorkers } from '../src/runtime/workers.ts';
import { createTaskControl } from '../src/temporal/task-control.ts';

/** Maximum number of concurrent groups. */
const SLOTS = 500;
/**
 * Activity slots for each concurrent attempt: one for the attempts in progress, and one for those that wait a moment for
 * their turn. So attempts in progress never occupy all slots.
 */
const SLOTS_PER_ATTEMPT = 2;

/**
 * Runs webhook deliveries: first attempts in groups, backlogs, retries, tests. A given `engine` connection is not
 * closed.
 * @throws if the database or Temporal is unreachable
 */
export async function startDeliveryWorker(
  configuration: WorkerConfiguration,
  log: Logger,
  given?: Engine & { time: EngineTime },
  telemetry: Telemetry = NO_TELEMETRY,
): Promise<Required<Running>> {
  await using opening = new AsyncDisposableStack();
  const foundation = await openFoundation(opening, { configuration, log, telemetry });
  const sealing = await openSealing(foundation, configuration.sealingKeys);
  const engine = given ?? (await openEngine(opening, foundation));
  const { client } = engine;
  const notifications = await startNotifications(configuration.databaseUrl, log, ['relayAnswers']);
  opening.defer(() => notifications.close());
  const connections = { client, sealing, engineTime: given?.time, notifications };
  const { activities: deliveries } = openDeliveries(opening, foundation, connections);
  const maintenance = await openMaintenance(opening, foundation);
  const workers = openWorkers(opening, foundation, engine);
  const worker = await workers.start('deliveries', {
    workflowBundle: await workers.bundle(),
    activities: { ...deliveries, ...maintenance },
    maxConcurrentWorkflowTaskExecutions: SLOTS,
    maxConcurrentLocalActivityExecutions: SLOTS,
    maxConcurrentActivityTaskExecutions: configuration.attemptsAtOnce.overall * SLOTS_PER_ATTEMPT,
    maxCachedWorkflows: SLOTS * 2,
  });
  // Only for the readiness check.
  const { taskQueue } = configuration;
  const { ready } = createTaskControl({ client, taskQueue, eagerStart: false, searchable: false });
  foundation.observation.setReadiness(() =>
    readinessOfWorkers(foundation.database, ready, { deliveries: worker }),
  );
  const scheduled = scheduleRetention(client, foundation);
  opening.defer(() => scheduled);
  const closing = opening.move();
  return { stopped: worker.stopped, close: () => closing.disposeAsync() };
}

if (import.meta.main) {
  await runProcess('delivery-worker', async (log, telemetry) => {
    installRuntime(log, telemetry);
    return await startDeliveryWorker(
      readProcessConfiguration('delivery-worker', process.env),
      log,
      undefined,
      telemetry,
    );
  });
}
