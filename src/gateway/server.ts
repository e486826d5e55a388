import { Client, Connection } from '@temporalio/client';
import type { Logger } from 'pino';
import { addressOfRequest, networkOf } from '../api/http/client-address.ts';
import { answerRefusedRequests } from '../api/http/refused-requests.ts';
import { startNotifications } from '../database/common/notifications.ts';
import { createAddressSet } from '../outbound/address-guard.ts';
import { readProcessConfiguration, type GatewayConfiguration } from '../runtime/process-configuration.ts';
import { dataConverterOf } from '../runtime/data-converter.ts';
import { openFoundation } from '../runtime/foundation.ts';
import { externalProviderOf } from '../runtime/outgoing.ts';
import { listen, urlOf } from '../runtime/http-server.ts';
import { runProcess, type Running } from '../runtime/process.ts';
import { NO_TELEMETRY, type Telemetry } from '../runtime/telemetry.ts';
import { responseHeaders } from '../security/response-headers.ts';
import { createTokens } from '../security/tokens.ts';
import { collectChannelMetrics } from '../telemetry/collectors.ts';
import { loadTemporalConfig } from '../temporal/connection.ts';
import { createTaskControl } from '../temporal/task-control.ts';
import { createChannel } from './channel.ts';
import { createHealthHandler } from './health.ts';

/** A running gateway; `url` is its listen address. */
export type GatewayProcess = Running & { url: string };

/** Reads of feeds are batched, so few connections serve many viewers. */
const DATABASE_POOL = 8;

/**
 * Starts the live channel as a separate process. Any number of gateways can run behind one address.
 * @throws Error with a sentence if the port is taken, or the driver's error if PostgreSQL is unreachable
 */
export async function startGateway(
  configuration: GatewayConfiguration,
  log: Logger,
  telemetry: Telemetry = NO_TELEMETRY,
): Promise<GatewayProcess> {
  await using opening = new AsyncDisposableStack();
  const { host, port, databaseUrl, tokenKeys, taskQueue } = configuration;
  const headers = responseHeaders(configuration.baseUrl);
  const listening = await listen(host, port, headers);
  opening.defer(listening.close);
  answerRefusedRequests(listening.server, headers);
  const foundation = await openFoundation(opening, {
    configuration,
    log,
    telemetry,
    poolSize: DATABASE_POOL,
  });
  const { database, observation } = foundation;
  const notifications = await startNotifications(databaseUrl, log);
  opening.defer(() => notifications.close());
  const { connectionOptions, namespace } = loadTemporalConfig();
  // Lazy: without Temporal, viewers see the stored state.
  const connection = Connection.lazy(connectionOptions);
  opening.defer(() => connection.close());
  const dataConverter = dataConverterOf(configuration.payloadKeys);
  const client = new Client({ connection, namespace, dataConverter });
  // Only for queries, so neither eager starts nor search attributes matter.
  const control = createTaskControl({ client, taskQueue, eagerStart: false, searchable: false });
  const clock = () => new Date();
  const trustedProxies = createAddressSet(configuration.trustedProxies);
  const channel = createChannel({
    database,
    notifications,
    tokens: createTokens(tokenKeys, externalProviderOf(configuration), clock),
    askWorkflow: (id) => control.view(id),
    limits: configuration.channelConnections,
    handshakes: configuration.channelHandshakes,
    addressOf: (request) => networkOf(addressOfRequest(request, trustedProxies)),
    clock,
    log,
  });
  if (telemetry.registry) collectChannelMetrics(telemetry.registry, channel.statistics);
  const health = createHealthHandler({ database, notifications, control, channel });
  observation.setReadiness(health.readiness);
  listening.serve((request, response) => {
    if (channel.isFor(request)) channel.handleRequest(request, response);
    else void health.answer(request, response);
  });
  listening.server.on('upgrade', channel.handleUpgrade);
  // Connections end before their dependencies are closed.
  opening.defer(async () => void (await Promise.all([channel.close(), listening.close()])));
  const closing = opening.move();
  return { url: urlOf(host, listening.port), close: () => closing.disposeAsync() };
}

if (import.meta.main) {
  await runProcess(
    'gateway',
    async (log, telemetry) =>
      await startGateway(readProcessConfiguration('gateway', process.env), log, telemetry),
  );
}
