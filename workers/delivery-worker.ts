import { Runtime, Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createAttempts, type EngineTime } from '../src/activities/deliveries/attempts.ts';
import { createDispatchActivities } from '../src/activities/deliveries/dispatch.ts';
import { createEndpointBook } from '../src/activities/deliveries/endpoint-book.ts';
import { createGate } from '../src/activities/deliveries/gate.ts';
import { createLedger } from '../src/activities/deliveries/ledger.ts';
import { createRelay } from '../src/activities/deliveries/relay.ts';
import { createRetryActivities } from '../src/activities/deliveries/retries.ts';
import { readConfiguration, type Configuration } from '../src/configuration.ts';
import { connectDatabase } from '../src/database/connect.ts';
import { startNotifications } from '../src/database/notifications.ts';
import { checkSchema } from '../src/database/schema.ts';
import { createSealing, webhookSecretPlace } from '../src/security/sealing.ts';
import { measureDeliveries } from '../src/telemetry/measures.ts';
import { createDeliveryControl } from '../src/workflows/control-deliveries.ts';
import { createTaskControl } from '../src/workflows/control.ts';
import { taskQueues } from '../src/workflows/messages.ts';
import { workflowBundle } from './bundle.ts';
import { observeDatabase, openObservation, readinessOfWorkers } from './observation.ts';
import { runningWorker } from './run-worker.ts';
import { runProcess } from './process.ts';
import { checkSealedSecrets } from './sealed-secrets.ts';
import { senderOf } from './sender.ts';
import { UNOBSERVED, type Telemetry } from './telemetry.ts';
import { connectTemporal, installRuntime, type Engine } from './temporal.ts';
import { outgoingTraces, tracedWorker } from './tracing.ts';
import { createUpkeep, scheduleRetention } from './upkeep.ts';
import { versionOptions } from './versioning.ts';

/** A delivery worker that works until it is closed. */
export type DeliveryWorker = { close(): Promise<void>; stopped: Promise<unknown> };

/** Of the attempts at once, so much may be one workspace's, so that none takes all the room. */
const WORKSPACE_SHARE = 0.4;
/** Groups, retries and backlogs at once. They wait for receivers most of the time. */
const SLOTS = 500;
const DATABASE_POOL = 10;

/**
 * Runs everything of webhook deliveries: first attempts in groups, backlogs, retries, tests. A connection that is
 * given stays the giver's to close.
 * @throws where the database or Temporal is out of reach
 */
export async function startDeliveryWorker(
  configuration: Configuration,
  log: Logger,
  engine?: Engine & { time: EngineTime },
  telemetry: Telemetry = UNOBSERVED,
): Promise<DeliveryWorker> {
  const observation = await openObservation(configuration, telemetry);
  const measures = telemetry.registry && measureDeliveries(telemetry.registry);
  const { databaseUrl, taskQueue, attemptsAtOnce } = configuration;
  const database = await connectDatabase(databaseUrl, DATABASE_POOL);
  const sealing = createSealing(configuration.sealingKeys);
  await checkSchema(database);
  await checkSealedSecrets(database, sealing);
  const temporal = engine ?? (await connectTemporal(configuration.payloadKeys, telemetry.tracing));
  const { connection, client, namespace, dataConverter = {} } = temporal;
  const engineTime = engine?.time ?? (async () => Date.now());
  const control = createDeliveryControl({ client, taskQueue });
  const sender = senderOf(configuration);
  const notifications = await startNotifications(databaseUrl, log, ['relayAnswers']);
  const upkeep = createUpkeep(configuration, database);
  const book = createEndpointBook(database);
  const attempt = createAttempts({
    database,
    book,
    gate: createGate({
      perWebhook: attemptsAtOnce.perWebhook,
      perWorkspace: Math.max(attemptsAtOnce.perWebhook, Math.ceil(attemptsAtOnce.overall * WORKSPACE_SHARE)),
      overall: attemptsAtOnce.overall,
    }),
    ledger: createLedger(database, ({ webhookId, at }) => {
      measures?.onDisabled();
      log.warn({ webhook_id: webhookId, disabled_at: at }, 'a webhook was disabled after too many failures');
      // One that can't be started now is found by the reconciler.
      control
        .notify(webhookId, at)
        .catch((error: unknown) => log.warn({ err: error }, 'admins could not be told yet'));
    }),
    sender,
    relay: createRelay({
      database,
      notifications,
      onTrouble: (error) => log.warn({ err: error }, 'a relayed request is cleared away later'),
    }),
    openSecret: (sealed, webhookId) => sealing.open(sealed, webhookSecretPlace(webhookId)),
    control,
    onTrouble: (error, what, deliveryId) => log.warn({ err: error, delivery_id: deliveryId }, what),
    traces: outgoingTraces(telemetry.tracing),
    onAttempt(made) {
      measures?.onDeliveryAttempt(made);
      if (made.succeeded) return;
      const { delivery_id, webhook_id, trigger, number, failure, response_status } = made;
      log.info(
        { delivery_id, webhook_id, trigger, attempt: number, failure, response_status },
        'an attempt of a delivery failed',
      );
    },
  });
  const worker = runningWorker(
    await Worker.create({
      connection,
      namespace,
      dataConverter,
      taskQueue: taskQueues(taskQueue).deliveries,
      ...versionOptions(configuration.version),
      ...tracedWorker(telemetry.tracing),
      workflowBundle: await workflowBundle(
        Runtime.instance().logger,
        dataConverter,
        telemetry.tracing !== null,
      ),
      activities: {
        ...createDispatchActivities({ database, book, attempt, control, engineTime }),
        ...createRetryActivities({ database, attempt, engineTime }),
        ...upkeep.activities,
      },
      maxConcurrentWorkflowTaskExecutions: SLOTS,
      maxConcurrentLocalActivityExecutions: SLOTS,
      maxConcurrentActivityTaskExecutions: SLOTS,
      maxCachedWorkflows: SLOTS * 2,
      stickyQueueScheduleToStartTimeout: '5 s',
      shutdownGraceTime: '5 s',
    }),
  );
  observeDatabase(telemetry, database);
  // Only for the question whether the engine answers.
  const { ready } = createTaskControl({ client, taskQueue, eagerStart: false, searchable: false });
  observation.judgeBy(() => readinessOfWorkers(database, ready, { deliveries: worker }));
  const scheduled = scheduleRetention(client, taskQueue, log);
  return {
    stopped: worker.stopped,
    async close() {
      await observation.close();
      await worker.shutdown();
      await scheduled;
      upkeep.close();
      await sender.close();
      await notifications.close();
      await database.close();
      if (!engine) await connection.close();
    },
  };
}

if (import.meta.main) {
  await runProcess('delivery-worker', async (log, telemetry) => {
    installRuntime(log, telemetry);
    return await startDeliveryWorker(readConfiguration(process.env), log, undefined, telemetry);
  });
}
