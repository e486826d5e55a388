import type { Logger } from 'pino';
import type { EngineTime } from '../src/activities/deliveries/attempts.ts';
import { startNotifications } from '../src/database/common/notifications.ts';
import { readProcessConfiguration, type WorkerConfiguration } from '../src/runtime/process-configuration.ts';
import { openDeliveries } from '../src/runtime/delivery-activities.ts';
import { openMaintenance, scheduleRetention } from '../src/runtime/maintenance.ts';
import { runProcess, type Running } from '../src/runtime/process.ts';
import { NO_TELEMETRY, type Telemetry } from '../src/runtime/telemetry.ts';
import { installRuntime, type Engine } from '../src/runtime/temporal.ts';
import { startWorkerProcess, type OpenWork } from '../src/runtime/worker-process.ts';

/** Maximum number of concurrent groups. */
const SLOTS = 500;
/**
 * Activity slots for each concurrent attempt: one for the attempts in progress, and one for those that wait a moment for
 * their turn. So attempts in progress never occupy all slots.
 */
const SLOTS_PER_ATTEMPT = 2;

/**
 * Returns the work of a delivery worker: first attempts in groups, backlogs, retries, tests; notifications, and the removal
 * of old rows. `engineTime`: as Temporal's clock shows it. Default: the time of this machine.
 */
export function deliveryWork(engineTime?: EngineTime): OpenWork {
  return async (closing, { foundation, sealing, engine: { client } }) => {
    const { configuration, log } = foundation;
    const notifications = await startNotifications(configuration.databaseUrl, log, ['relayAnswers']);
    closing.defer(() => notifications.close());
    const connections = { client, sealing, engineTime, notifications };
    const { activities: deliveries } = openDeliveries(closing, foundation, connections);
    const maintenance = await openMaintenance(closing, foundation);
    return async (workers) => {
      const worker = await workers.start('deliveries', {
        workflowBundle: await workers.bundle(),
        activities: { ...deliveries, ...maintenance },
        maxConcurrentWorkflowTaskExecutions: SLOTS,
        maxConcurrentLocalActivityExecutions: SLOTS,
        maxConcurrentActivityTaskExecutions: configuration.attemptsAtOnce.overall * SLOTS_PER_ATTEMPT,
        maxCachedWorkflows: SLOTS * 2,
      });
      const scheduled = scheduleRetention(client, foundation);
      closing.defer(() => scheduled);
      return { deliveries: worker };
    };
  };
}

/**
 * Runs a delivery worker. A given `engine` connection is not closed.
 * @throws if the database or Temporal is unreachable
 */
export async function startDeliveryWorker(
  configuration: WorkerConfiguration,
  log: Logger,
  given?: Engine & { time: EngineTime },
  telemetry: Telemetry = NO_TELEMETRY,
): Promise<Required<Running>> {
  return await startWorkerProcess([deliveryWork(given?.time)], { configuration, log, telemetry, given });
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
