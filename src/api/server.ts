import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import { workflowBundle } from '../../workers/bundle.ts';
import { openCallbacks } from '../../workers/callbacks.ts';
import { observeDatabase, openObservation, readinessOfWorkers } from '../../workers/observation.ts';
import { runProcess } from '../../workers/process.ts';
import { mailerOf } from '../../workers/mailer.ts';
import { checkSealedSecrets } from '../../workers/sealed-secrets.ts';
import { startRunWorker } from '../../workers/run-worker.ts';
import { UNOBSERVED, type Telemetry } from '../../workers/telemetry.ts';
import { connectTemporal, installRuntime, knowsSearchAttributes } from '../../workers/temporal.ts';
import { incomingTraces } from '../../workers/tracing.ts';
import { loadCatalogue } from '../agents/catalogue.ts';
import { readConfiguration, type Configuration } from '../configuration.ts';
import { connectDatabase, type Database } from '../database/connect.ts';
import { forgetOldKeys } from '../database/idempotency.ts';
import { createKnownKeys } from '../database/known-keys.ts';
import { startNotifications } from '../database/notifications.ts';
import { checkSchema } from '../database/schema.ts';
import { createAddressGuard } from '../outbound/address-guard.ts';
import { createPayloadCodec } from '../security/payload-codec.ts';
import { createSealing } from '../security/sealing.ts';
import { answerHeaders } from '../security/answer-headers.ts';
import { createTokens } from '../security/tokens.ts';
import { measureRequests } from '../telemetry/measures.ts';
import { tellOfChannel } from '../telemetry/readings.ts';
import { createDeliveryControl } from '../workflows/control-deliveries.ts';
import { createChannel } from '../gateway/channel.ts';
import { createTaskControl } from '../workflows/control.ts';
import { createApp } from './app.ts';
import type { Dependencies } from './dependencies.ts';
import { createGatherer } from './events/gatherer.ts';
import { createGroupStore } from './events/group-store.ts';
import { listen, urlOf, type Listening } from './http/listen.ts';
import { createOpenIdMeans } from './openid/means.ts';
import { createPasswordAttempts } from './session/password-attempts.ts';

/** A running API process. `url` is where it listens, `stopped` settles when its worker has stopped by itself. */
export type ApiProcess = { server: Server; url: string; close(): Promise<void>; stopped: Promise<unknown> };

type Extras = Pick<Dependencies, 'onAnswer'> & { telemetry?: Telemetry };

const DATABASE_POOL = 20;
/** Where the build puts the screens. */
const SCREENS_FOLDER = fileURLToPath(new URL('../../web/dist', import.meta.url));
/** How often idempotency keys that are too old are deleted. */
const HOUSEKEEPING_MS = 3_600_000;

/**
 * Starts the API with everything it stands on: database, Temporal, and the worker that every API process carries
 * for eager starts.
 * @throws a sentence where the port is taken, or the driver's error where PostgreSQL or Temporal is out of reach
 */
export async function bootstrap(
  configuration: Configuration,
  log: Logger,
  extras: Extras = {},
): Promise<ApiProcess> {
  const listening = await listen(
    configuration.host,
    configuration.port,
    answerHeaders(configuration.baseUrl),
  );
  try {
    return await serve(listening, configuration, log, extras);
  } catch (error) {
    await listening.close();
    throw error;
  }
}

async function serve(
  listening: Listening,
  configuration: Configuration,
  log: Logger,
  { telemetry = UNOBSERVED, ...extras }: Extras,
): Promise<ApiProcess> {
  const observation = await openObservation(configuration, telemetry);
  const { databaseUrl, taskQueue, eagerStart, version } = configuration;
  const catalogue = loadCatalogue(configuration.agentsFile, configuration.models.defaultModel);
  const clock = () => new Date();
  const database = await connectDatabase(databaseUrl, DATABASE_POOL);
  await checkSchema(database);
  const sealing = createSealing(configuration.sealingKeys);
  await checkSealedSecrets(database, sealing);
  const callbacks = openCallbacks({ configuration, database, sealing, telemetry, log });
  const notifications = await startNotifications(databaseUrl, log);
  const temporal = await connectTemporal(configuration.payloadKeys, telemetry.tracing);
  const { connection, client, namespace, dataConverter } = temporal;
  const searchable = await knowsSearchAttributes(temporal, log);
  const bundle = await workflowBundle(Runtime.instance().logger, dataConverter, telemetry.tracing !== null);
  const place = { connection, namespace, dataConverter, taskQueue, version };
  const { callBack } = callbacks;
  const worker = await startRunWorker({ ...place, database, catalogue, callBack, bundle, telemetry });
  const stopping = new AbortController();
  const control = createTaskControl({ client, taskQueue, eagerStart, searchable });
  const tokens = createTokens(configuration.tokenKeys, configuration.identityProvider, clock);
  const deliveryControl = createDeliveryControl({ client, taskQueue });
  const gatherer = createGatherer(
    createGroupStore({ database, control: deliveryControl, engineReady: control.ready, clock, log }),
    telemetry.tracing?.within,
  );
  const channel = configuration.channelInApi
    ? createChannel({
        database,
        notifications,
        tokens,
        askWorkflow: (id) => control.view(id),
        limits: configuration.channelConnections,
        clock,
        log,
      })
    : null;
  const mailer = mailerOf(configuration);
  const app = createApp({
    database,
    catalogue,
    control,
    deliveryControl,
    gatherer,
    notifications,
    knownKeys: createKnownKeys(database, notifications, clock),
    tokens,
    channelNumbers: () => channel?.numbers() ?? null,
    sealing,
    ...settingsOf(configuration, listening.port, clock),
    mailer,
    screensFolder: SCREENS_FOLDER,
    temporalUi: configuration.temporalUiUrl ? { url: configuration.temporalUiUrl, namespace } : null,
    log,
    clock,
    stopping: stopping.signal,
    ...(telemetry.registry && measureRequests(telemetry.registry)),
    traceRequest: incomingTraces(telemetry.tracing),
    ...extras,
  });
  observeDatabase(telemetry, database);
  if (telemetry.registry && channel) tellOfChannel(telemetry.registry, channel.numbers);
  observation.judgeBy(() => readinessOfWorkers(database, control.ready, { runs: worker }));
  const answer = app.callback();
  listening.serve((request, response) => {
    if (channel?.isFor(request)) channel.handleRequest(request, response);
    else void answer(request, response);
  });
  if (channel) listening.server.on('upgrade', channel.handleUpgrade);
  const housekeeping = forgetRegularly(database, clock, log);

  /** From the outside in: no new requests, then none at all, then what they stood on. */
  async function close(): Promise<void> {
    stopping.abort();
    clearInterval(housekeeping);
    await Promise.all([channel?.close(), listening.close()]);
    await gatherer.close();
    await worker.shutdown();
    await callbacks.close();
    await notifications.close();
    await connection.close();
    await observation.close();
    mailer?.close();
    await database.close();
  }

  return {
    server: listening.server,
    url: urlOf(configuration.host, listening.port),
    stopped: worker.stopped,
    close: onceOnly(close),
  };
}

/** What the API takes from the configuration as it is. */
function settingsOf(configuration: Configuration, port: number, clock: () => Date) {
  const { baseUrl, rateLimit, webhooksPerWorkspace } = configuration;
  return {
    guard: createAddressGuard(configuration.outboundAllow),
    webhooksPerWorkspace,
    baseUrl: baseUrl ?? `http://localhost:${port}`,
    rateLimit,
    eventsRateLimit: configuration.eventsRateLimit,
    signInsPerMinute: configuration.signInsPerMinute,
    passwordAttempts: createPasswordAttempts(clock),
    openId: openIdOf(configuration, port, clock),
    codec: codecOf(configuration),
    sourceAddresses: configuration.sourceAddresses,
  };
}

function codecOf({ payloadKeys, codecToken }: Configuration) {
  return payloadKeys && { payloads: createPayloadCodec(payloadKeys), token: codecToken };
}

function openIdOf({ openId, outboundCaFile, baseUrl }: Configuration, port: number, clock: () => Date) {
  if (openId === null) return null;
  const ca = outboundCaFile === null ? null : readFileSync(outboundCaFile, 'utf8');
  return createOpenIdMeans(openId, { baseUrl: baseUrl ?? `http://localhost:${port}`, ca, clock });
}

function forgetRegularly(database: Database, clock: () => Date, log: Logger): NodeJS.Timeout {
  const forget = () =>
    forgetOldKeys(database, clock()).catch((error: unknown) =>
      log.warn({ err: error }, 'old idempotency keys could not be forgotten'),
    );
  return setInterval(() => void forget(), HOUSEKEEPING_MS);
}

function onceOnly(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}

if (import.meta.main) {
  await runProcess('api', async (log, telemetry) => {
    installRuntime(log, telemetry);
    return await bootstrap(readConfiguration(process.env), log, { telemetry });
  });
}
