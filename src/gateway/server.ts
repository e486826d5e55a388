import { Client, Connection } from '@temporalio/client';
import type { Logger } from 'pino';
import { dataConverterOf } from '../../workers/data-converter.ts';
import { observeDatabase, openObservation } from '../../workers/observation.ts';
import { runProcess, type Running } from '../../workers/process.ts';
import { UNOBSERVED, type Telemetry } from '../../workers/telemetry.ts';
import { listen, urlOf, type Listening } from '../api/http/listen.ts';
import { readConfiguration, type Configuration } from '../configuration.ts';
import { connectDatabase } from '../database/connect.ts';
import { startNotifications } from '../database/notifications.ts';
import { answerHeaders } from '../security/answer-headers.ts';
import { checkSchema } from '../database/schema.ts';
import { createTokens } from '../security/tokens.ts';
import { tellOfChannel } from '../telemetry/readings.ts';
import { temporalPlace } from '../temporal-place.ts';
import { createTaskControl } from '../workflows/control.ts';
import { createChannel } from './channel.ts';
import { createHealthAnswers } from './health.ts';

/** A running gateway; `url` is where it listens. */
export type GatewayProcess = Running & { url: string };

/** Reading of feeds is batched, so few connections serve many viewers. */
const DATABASE_POOL = 8;

/**
 * Starts the live channel alone, on a port of its own: any number of these may stand behind one address.
 * @throws a sentence where the port is taken, or the driver's error where PostgreSQL or Temporal is out of reach
 */
export async function startGateway(
  configuration: Configuration,
  log: Logger,
  telemetry: Telemetry = UNOBSERVED,
): Promise<GatewayProcess> {
  const listening = await listen(
    configuration.host,
    configuration.port,
    answerHeaders(configuration.baseUrl),
  );
  try {
    return await serve(listening, configuration, log, telemetry);
  } catch (error) {
    await listening.close();
    throw error;
  }
}

async function serve(
  listening: Listening,
  configuration: Configuration,
  log: Logger,
  telemetry: Telemetry,
): Promise<GatewayProcess> {
  const observation = await openObservation(configuration, telemetry);
  const { host, databaseUrl, tokenKeys, identityProvider, taskQueue } = configuration;
  const clock = () => new Date();
  const database = await connectDatabase(databaseUrl, DATABASE_POOL);
  await checkSchema(database);
  const notifications = await startNotifications(databaseUrl, log);
  const { connectionOptions, namespace } = temporalPlace();
  // Where Temporal is away, viewers see what is stored.
  const connection = Connection.lazy(connectionOptions);
  const dataConverter = dataConverterOf(configuration.payloadKeys);
  const client = new Client({ connection, namespace, dataConverter });
  // It only asks here, so neither eager starts nor search attributes matter.
  const control = createTaskControl({ client, taskQueue, eagerStart: false, searchable: false });
  const channel = createChannel({
    database,
    notifications,
    tokens: createTokens(tokenKeys, identityProvider, clock),
    askWorkflow: (id) => control.view(id),
    limits: configuration.channelConnections,
    clock,
    log,
  });
  observeDatabase(telemetry, database);
  if (telemetry.registry) tellOfChannel(telemetry.registry, channel.numbers);
  const health = createHealthAnswers({ database, notifications, control, channel });
  listening.serve((request, response) => {
    if (channel.isFor(request)) channel.handleRequest(request, response);
    else void health.answer(request, response);
  });
  observation.judgeBy(health.readiness);
  listening.server.on('upgrade', channel.handleUpgrade);
  return {
    url: urlOf(host, listening.port),
    async close() {
      await observation.close();
      await Promise.all([channel.close(), listening.close()]);
      await notifications.close();
      await connection.close();
      await database.close();
    },
  };
}

if (import.meta.main) {
  await runProcess(
    'gateway',
    async (log, telemetry) => await startGateway(readConfiguration(process.env), log, telemetry),
  );
}
