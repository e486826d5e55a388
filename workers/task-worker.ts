import { Runtime, Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createCallbackActivities } from '../src/activities/send-callback.ts';
import { loadCatalogue } from '../src/agents/catalogue.ts';
import { readConfiguration, type Configuration } from '../src/configuration.ts';
import { connectDatabase, type Database } from '../src/database/connect.ts';
import { storedFigures } from '../src/database/figures.ts';
import { checkSchema } from '../src/database/schema.ts';
import { createEngine } from '../src/reconciler/engine.ts';
import { RECONCILER_ACTIONS } from '../src/reconciler/reconcile.ts';
import { startReconciler } from '../src/reconciler/run.ts';
import { createSealing } from '../src/security/sealing.ts';
import { measureReconciler } from '../src/telemetry/measures.ts';
import { tellOfStored } from '../src/telemetry/readings.ts';
import { createDeliveryControl } from '../src/workflows/control-deliveries.ts';
import { createTaskControl } from '../src/workflows/control.ts';
import { taskQueues } from '../src/workflows/messages.ts';
import { startAgents } from './agents.ts';
import { workflowBundle } from './bundle.ts';
import { openCallbacks } from './callbacks.ts';
import { observeDatabase, openObservation, readinessOfWorkers } from './observation.ts';
import { runMeasuresOf, runningWorker, startRunWorker } from './run-worker.ts';
import { UNOBSERVED, type Telemetry } from './telemetry.ts';
import { runProcess } from './process.ts';
import { checkSealedSecrets } from './sealed-secrets.ts';
import { connectTemporal, installRuntime, knowsSearchAttributes } from './temporal.ts';
import { tracedWorker } from './tracing.ts';
import { versionOptions } from './versioning.ts';

/** A task worker that works until it is closed. */
export type TaskWorker = { close(): Promise<void>; stopped: Promise<unknown> };

/** How many callbacks one task worker works on at once. */
const CALLBACK_SLOTS = 50;

/**
 * Runs workflows, agents' work and callbacks, and takes its turn as reconciler.
 * @throws where the database or Temporal is out of reach
 */
export async function startTaskWorker(
  configuration: Configuration,
  log: Logger,
  telemetry: Telemetry = UNOBSERVED,
): Promise<TaskWorker> {
  const observation = await openObservation(configuration, telemetry);
  const { databaseUrl, taskQueue, version } = configuration;
  const catalogue = loadCatalogue(configuration.agentsFile, configuration.models.defaultModel);
  const database = await connectDatabase(databaseUrl);
  const sealing = createSealing(configuration.sealingKeys);
  await checkSchema(database);
  await checkSealedSecrets(database, sealing);
  const temporal = await connectTemporal(configuration.payloadKeys, telemetry.tracing);
  const { connection, client, namespace, dataConverter } = temporal;
  const bundle = await workflowBundle(Runtime.instance().logger, dataConverter, telemetry.tracing !== null);
  const queues = taskQueues(taskQueue);
  const callbacks = openCallbacks({ configuration, database, sealing, telemetry, log });
  observeDatabase(telemetry, database);
  const measures = measuresOf(telemetry, database, log);
  const place = { connection, namespace, dataConverter, taskQueue, version };
  const { callBack } = callbacks;
  const runs = await startRunWorker({ ...place, database, catalogue, callBack, bundle, telemetry });
  const agents = await startAgents({
    ...place,
    database,
    catalogue,
    models: configuration.models,
    outbound: configuration,
    log,
    telemetry,
  });
  const callbackQueue = runningWorker(
    await Worker.create({
      connection,
      namespace,
      dataConverter,
      taskQueue: queues.callbacks,
      ...versionOptions(version),
      ...tracedWorker(telemetry.tracing),
      activities: createCallbackActivities({ database, attempt: callbacks.attempt }),
      maxConcurrentActivityTaskExecutions: CALLBACK_SLOTS,
      shutdownGraceTime: '5 s',
    }),
  );
  const control = createTaskControl({
    client,
    taskQueue,
    eagerStart: false,
    searchable: await knowsSearchAttributes(temporal, log),
  });
  const reconciler = startReconciler({
    database,
    databaseUrl,
    engine: createEngine({ client, taskQueue, log }),
    control,
    ...measures,
    deliveryControl: createDeliveryControl({ client, taskQueue }),
    clock: () => new Date(),
    runsKeptDays: configuration.runsKeptDays,
    log,
  });
  observation.judgeBy(() =>
    readinessOfWorkers(database, control.ready, {
      runs,
      'the work of agents': agents,
      callbacks: callbackQueue,
    }),
  );
  return {
    stopped: Promise.race([runs.stopped, agents.stopped, callbackQueue.stopped]),
    async close() {
      await observation.close();
      await reconciler.stop();
      await Promise.allSettled([runs, agents, callbackQueue].map((worker) => worker.shutdown()));
      await callbacks.close();
      await database.close();
      await connection.close();
    },
  };
}

/** What a task worker counts beside what its run worker does; nothing where it is not observed. */
function measuresOf(telemetry: Telemetry, database: Database, log: Logger) {
  const { registry } = telemetry;
  if (registry === null) return null;
  tellOfStored(
    registry,
    () => storedFigures(database),
    (error) => log.warn({ err: error }, 'the figures of the database could not be read'),
  );
  return {
    ...measureReconciler(registry, RECONCILER_ACTIONS),
    ...runMeasuresOf(telemetry),
  };
}

if (import.meta.main) {
  await runProcess('task-worker', async (log, telemetry) => {
    installRuntime(log, telemetry);
    return await startTaskWorker(readConfiguration(process.env), log, telemetry);
  });
}
