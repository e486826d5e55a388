import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { openDeliveries } from '../runtime/delivery-activities.ts';
import { openCallbacks } from '../runtime/callbacks.ts';
import { openEngine, openFoundation, openSealing } from '../runtime/foundation.ts';
import { readinessOfWorkers } from '../runtime/observation.ts';
import { startRunWorker } from '../runtime/run-worker.ts';
import { openWorkers } from '../runtime/workers.ts';
import { runProcess, type Running } from '../runtime/process.ts';
import { externalProviderOf, mailerOf } from '../runtime/outgoing.ts';
import { NO_TELEMETRY, type Telemetry } from '../runtime/telemetry.ts';
import { installRuntime, knowsSearchAttributes } from '../runtime/temporal.ts';
import { loadCatalogue } from '../agents/catalogue.ts';
import type { Configuration } from '../runtime/configuration.ts';
import { readProcessConfiguration } from '../runtime/process-configuration.ts';
import type { Database } from '../database/database.ts';
import { deleteOldKeys } from '../database/tasks/idempotency.ts';
import { createKeyCache } from '../database/people/key-cache.ts';
import { findActiveKey } from '../database/people/keys.ts';
import { startNotifications } from '../database/common/notifications.ts';
import { findRunStatus } from '../database/tasks/task-runs.ts';
import { sharingCalls } from '../domain/common/shared-calls.ts';
import { ALL_OWN_ATTEMPTS } from '../domain/webhooks/dispatch-batches.ts';
import { createDeliveryStore } from '../database/webhooks/delivery-store.ts';
import { createAddressGuard, createAddressSet } from '../outbound/address-guard.ts';
import { createPayloadCodec } from '../security/payload-codec.ts';
import { responseHeaders } from '../security/response-headers.ts';
import { createTokens } from '../security/tokens.ts';
import { createRequestMetrics } from '../telemetry/event-metrics.ts';
import { collectChannelMetrics } from '../telemetry/collectors.ts';
import { createDeliveryControl } from '../temporal/delivery-control.ts';
import { createChannel } from '../gateway/channel.ts';
import { addressOfRequest, networkOf } from './http/client-address.ts';
import { createTaskControl } from '../temporal/task-control.ts';
import { createAdmission } from './admission.ts';
import { answerRefusedRequests } from './http/refused-requests.ts';
import { createApp } from './app.ts';
import type { Dependencies } from './dependencies.ts';
import { createBatcher } from './events/batcher.ts';
import { createRetryStarter } from './deliveries/retry-starter.ts';
import { createGroupStarter } from './events/group-starter.ts';
import { createGroupStore } from './events/group-store.ts';
import { createRunStarter } from './tasks/run-starter.ts';
import { listen, urlOf } from '../runtime/http-server.ts';
import { incomingTraces } from './http/trace-requests.ts';
import { messageTraces } from './mcp/message-traces.ts';
import { createOpenIdSignIn } from './account/openid/sign-in.ts';
import { createPasswordAttempts } from './account/session/password-attempts.ts';

/** A running API process. `url` is its listen address; `stopped` settles if its worker stops by itself. */
export type ApiProcess = Required<Running> & { server: Server; url: string };

type BootstrapOptions = Pick<Dependencies, 'onResponse'> & { telemetry?: Telemetry };

const DATABASE_POOL = 20;
/** Output folder of the screens. */
const SCREENS_FOLDER = fileURLToPath(new URL('../../web/dist', import.meta.url));
/** How often expired idempotency keys are deleted, in milliseconds. */
const HOUSEKEEPING_MS = 3_600_000;

/**
 * Starts the API with its dependencies: the database, Temporal, and the worker that each API process has for eager
 * starts. Requests get 503 until it is ready.
 * @throws Error with a sentence if the port is taken, or the driver's error if PostgreSQL or Temporal is unreachable
 */
export async function bootstrap(
  configuration: Configuration,
  log: Logger,
  { telemetry = NO_TELEMETRY, ...extras }: BootstrapOptions = {},
): Promise<ApiProcess> {
  await using opening = new AsyncDisposableStack();
  const { host, databaseUrl, taskQueue, eagerStart } = configuration;
  const headers = responseHeaders(configuration.baseUrl);
  const listening = await listen(host, configuration.port, headers);
  opening.defer(listening.close);
  answerRefusedRequests(listening.server, headers);
  const catalogue = loadCatalogue(configuration.agentsFile, configuration.models.defaultModel);
  const clock = () => new Date();
  const foundation = await openFoundation(opening, {
    configuration,
    log,
    telemetry,
    poolSize: DATABASE_POOL,
  });
  const { database, observation } = foundation;
  const sealing = await openSealing(foundation, configuration.sealingKeys);
  const mailer = await mailerOf(configuration);
  opening.defer(() => mailer?.close());
  const engine = await openEngine(opening, foundation);
  const { client, namespace } = engine;
  const searchable = await knowsSearchAttributes(engine, log);
  const notifications = await startNotifications(databaseUrl, log);
  opening.defer(() => notifications.close());
  const callbacks = openCallbacks(opening, foundation, sealing);
  const { attemptsAtOnce } = configuration;
  const ownAttempts = { ...attemptsAtOnce, overall: Math.min(attemptsAtOnce.overall, ALL_OWN_ATTEMPTS) };
  const deliveries = eagerStart
    ? openDeliveries(opening, foundation, { client, sealing, notifications, attemptsAtOnce: ownAttempts })
    : null;
  const dispatchGroup = deliveries?.activities.dispatchGroup;
  // Closed before the deliveries, which wait for the attempts that its activities have begun.
  const workers = openWorkers(opening, foundation, engine);
  const worker = await startRunWorker(workers, foundation, { catalogue, ...callbacks, dispatchGroup });
  const control = createTaskControl({ client, taskQueue, eagerStart, searchable });
  const deliveryControl = createDeliveryControl({ client, taskQueue });
  const inTrace = telemetry.tracing?.within;
  const runStarter = createRunStarter(control, log);
  const groupStarter = createGroupStarter({
    store: createDeliveryStore(database),
    control: deliveryControl,
    ownAttempts: deliveries && deliveries.firstAttempts,
    inTrace,
    log,
  });
  const retryStarter = createRetryStarter(deliveryControl, log);
  opening.defer(runStarter.close);
  opening.defer(retryStarter.close);
  opening.defer(groupStarter.close);
  const batcher = createBatcher(createGroupStore({ database, starter: groupStarter, clock }), inTrace);
  opening.defer(() => batcher.close());
  const starters = { tasks: runStarter, events: groupStarter };
  const admission = createAdmission({
    database,
    limits: configuration.mostWaiting,
    isBehind: (kind) => starters[kind].isBehind(),
  });
  const tokens = createTokens(configuration.tokenKeys, externalProviderOf(configuration), clock);
  const settings = settingsOf(configuration, listening.port, clock);
  const channel = configuration.channelInApi
    ? createChannel({
        database,
        notifications,
        tokens,
        askWorkflow: (id) => control.view(id),
        limits: configuration.channelConnections,
        handshakes: configuration.channelHandshakes,
        addressOf: (request) => networkOf(addressOfRequest(request, settings.trustedProxies)),
        clock,
        log,
      })
    : null;
  if (telemetry.registry && channel) collectChannelMetrics(telemetry.registry, channel.statistics);
  const stopping = new AbortController();
  const app = createApp({
    database,
    catalogue,
    control,
    deliveryControl,
    batcher,
    runStarter,
    retryStarter,
    admission,
    notifications,
    readRunStatus: sharingCalls((id) => findRunStatus(database, id)),
    knownKeys: createKeyCache((hash) => findActiveKey(database, { hash }), notifications, clock),
    tokens,
    channelStatistics: () => channel?.statistics() ?? null,
    sealing,
    ...settings,
    mailer,
    screensFolder: SCREENS_FOLDER,
    temporalUi: configuration.temporalUiUrl ? { url: configuration.temporalUiUrl, namespace } : null,
    log,
    clock,
    stopping: stopping.signal,
    ...(telemetry.registry && createRequestMetrics(telemetry.registry)),
    traceRequest: incomingTraces(telemetry.tracing),
    traceMessage: messageTraces(telemetry.tracing),
    ...extras,
  });
  observation.setReadiness(() =>
    readinessOfWorkers(database, control.ready, { runs: worker }, { needsTemporal: false }),
  );
  const answer = app.callback();
  listening.serve((request, response) => {
    if (channel?.isFor(request)) channel.handleRequest(request, response);
    else void answer(request, response);
  });
  if (channel) listening.server.on('upgrade', channel.handleUpgrade);
  const housekeeping = forgetRegularly(database, clock, log);
  // Requests end before their dependencies are closed.
  opening.defer(async () => {
    stopping.abort();
    clearInterval(housekeeping);
    await Promise.all([channel?.close(), listening.close()]);
  });
  const closing = opening.move();
  return {
    server: listening.server,
    url: urlOf(host, listening.port),
    stopped: worker.stopped,
    close: () => closing.disposeAsync(),
  };
}

/** Returns the dependencies that follow from the configuration alone. */
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
    tokenIssuer: configuration.identityProvider?.issuer ?? null,
    sourceAddresses: configuration.sourceAddresses,
    trustedProxies: createAddressSet(configuration.trustedProxies),
  };
}

function codecOf({ payloadKeys, codecToken }: Configuration) {
  return payloadKeys && { payloads: createPayloadCodec(payloadKeys), token: codecToken };
}

function openIdOf({ openId, outboundCaFile, baseUrl }: Configuration, port: number, clock: () => Date) {
  if (openId === null) return null;
  const ca = outboundCaFile === null ? null : readFileSync(outboundCaFile, 'utf8');
  return createOpenIdSignIn(openId, { baseUrl: baseUrl ?? `http://localhost:${port}`, ca, clock });
}

/** Deletes old idempotency keys now and every hour, until the timer is cleared. */
function forgetRegularly(database: Database, clock: () => Date, log: Logger): NodeJS.Timeout {
  const forget = () =>
    void deleteOldKeys(database, clock()).catch((error: unknown) =>
      log.warn({ err: error }, 'deleting old idempotency keys failed'),
    );
  forget();
  return setInterval(forget, HOUSEKEEPING_MS);
}

if (import.meta.main) {
  await runProcess('api', async (log, telemetry) => {
    installRuntime(log, telemetry);
    return await bootstrap(readProcessConfiguration('api', process.env), log, { telemetry });
  });
}
