import type { Logger } from 'pino';
import { connectDatabase } from '../database/connect.ts';
import type { Database } from '../database/database.ts';
import { checkSchema } from '../database/schema.ts';
import { createSealing, type Sealing } from '../security/sealing.ts';
import type { Configuration } from './configuration.ts';
import { observeDatabase, openObservation, type Observation } from './observation.ts';
import { checkSealedSecrets } from './sealed-secrets.ts';
import type { Telemetry } from './telemetry.ts';
import { connectTemporal, type Engine } from './temporal.ts';

/** What every process of the service is built on. */
export type Foundation = {
  configuration: Configuration;
  log: Logger;
  telemetry: Telemetry;
  /** The metrics port; it says "not ready" until the process names its checks. */
  observation: Observation;
  database: Database;
};

type FoundationOptions = Pick<Foundation, 'configuration' | 'log' | 'telemetry'> & {
  /** The most connections to PostgreSQL. */
  poolSize?: number;
};

/**
 * Opens the metrics port and the database. Everything that this and the other `open` functions open is closed with
 * `closing`, the last one first: also when a later step of the start fails.
 * @throws a sentence if the metrics port is taken, the driver's error if PostgreSQL is out of reach, SchemaError if the
 *   schema is not the one of this version
 */
export async function openFoundation(
  closing: AsyncDisposableStack,
  { poolSize, ...given }: FoundationOptions,
): Promise<Foundation> {
  const { configuration, telemetry } = given;
  const observation = await openObservation(configuration, telemetry);
  closing.defer(observation.close);
  const database = await connectDatabase(configuration.databaseUrl, poolSize);
  closing.defer(() => database.close());
  await checkSchema(database);
  observeDatabase(telemetry, database);
  return { ...given, observation, database };
}

/** Returns what opens and seals stored secrets. @throws ConfigurationError if a key is missing or another one */
export async function openSealing({ configuration, database }: Foundation): Promise<Sealing> {
  const sealing = createSealing(configuration.sealingKeys);
  await checkSealedSecrets(database, sealing);
  return sealing;
}

/** Connects to Temporal. @throws if it is out of reach */
export async function openEngine(
  closing: AsyncDisposableStack,
  { configuration, telemetry }: Foundation,
): Promise<Required<Engine>> {
  const engine = await connectTemporal(configuration.payloadKeys, telemetry.tracing);
  closing.defer(() => engine.connection.close());
  return engine;
}
