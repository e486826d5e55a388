import type { Logger } from 'pino';
import { createPushActivities } from '../src/activities/push-notifications.ts';
import { createCallbackActivities } from '../src/activities/send-callback.ts';
import { loadCatalogue } from '../src/agents/catalogue.ts';
import { startAgentWorker } from '../src/runtime/agent-workers.ts';
import { openCallbacks } from '../src/runtime/callbacks.ts';
import { readProcessConfiguration, type WorkerConfiguration } from '../src/runtime/process-configuration.ts';
import { hideProcess } from '../src/runtime/hide-process.ts';
import type { PushSecrets } from '../src/outbound/push-request.ts';
import { runProcess, type Running } from '../src/runtime/process.ts';
import type { ChosenIsolation } from '../src/runtime/program-isolation.ts';
import { openReconciler } from '../src/runtime/open-reconciler.ts';
import { startRunWorker } from '../src/runtime/run-worker.ts';
import { NO_TELEMETRY, type Telemetry } from '../src/runtime/telemetry.ts';
import { pushSecretsContext } from '../src/security/sealing.ts';
import { installRuntime } from '../src/runtime/temporal.ts';
import { startWorkerProcess, type OpenWork } from '../src/runtime/worker-process.ts';

/** Maximum number of concurrent callbacks of a task worker. */
const CALLBACK_SLOTS = 50;

/**
 * Returns the work of a task worker: workflows, the work of agents and callbacks, and the reconciler when it is this
 * worker's turn. `programs`: the isolation of programs if it was chosen before.
 * @throws errors of the catalogue
 */
export function taskWork(
  { agentsFile, models }: WorkerConfiguration,
  programs: ChosenIsolation | null = null,
): OpenWork {
  const catalogue = loadCatalogue(agentsFile, models.defaultModel);
  return async (closing, { foundation, sealing, engine }) => {
    const callbacks = openCallbacks(closing, foundation, sealing);
    return async (workers) => {
      const runs = await startRunWorker(workers, foundation, { catalogue, ...callbacks });
      const agents = await startAgentWorker(workers, foundation, catalogue, engine, programs);
      const callbackWorker = await workers.start('callbacks', {
        activities: {
          ...createCallbackActivities({ database: foundation.database, attempt: callbacks.attempt }),
          ...createPushActivities({
            ...callbacks.dependencies,
            openPushSecrets: (sealed, key) =>
              JSON.parse(sealing.open(sealed, pushSecretsContext(key))) as PushSecrets,
          }),
        },
        maxConcurrentActivityTaskExecutions: CALLBACK_SLOTS,
      });
      await openReconciler(closing, foundation, engine);
      return { runs, 'the work of agents': agents, callbacks: callbackWorker };
    };
  };
}

/**
 * Runs a task worker.
 * @throws if the database or Temporal is unreachable
 */
export async function startTaskWorker(
  configuration: WorkerConfiguration,
  log: Logger,
  telemetry: Telemetry = NO_TELEMETRY,
  programs: ChosenIsolation | null = null,
): Promise<Required<Running>> {
  return await startWorkerProcess([taskWork(configuration, programs)], { configuration, log, telemetry });
}

if (import.meta.main) {
  await runProcess('task-worker', async (log, telemetry) => {
    const configuration = readProcessConfiguration('task-worker', process.env);
    const programs = await hideProcess(configuration);
    installRuntime(log, telemetry);
    return await startTaskWorker(configuration, log, telemetry, programs);
  });
}
