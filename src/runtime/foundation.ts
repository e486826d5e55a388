import type { Logger } from 'pino';
import { connectDatabase } from '../database/connect.ts';
import type { Database } from '../database/database.ts';
import { checkSchema } from '../database/schema.ts';
import type { KeyRing } from '../security/key-ring.ts';
import { createSealing, type Sealing } from '../security/sealing.ts';
import type { Configuration } from './configuration.ts';
import { observeDatabase, openObservation, type Observation } from './observation.ts';
import { checkSealedSecrets } from './sealed-secrets.ts';
import type { Telemetry } from './telemetry.ts';
import { connectTemporal, type Engine } from './temporal.ts';

/** The configuration without the keys that only some processes have. */
export type SharedConfiguration = Omit<Configuration, 'sealingKeys' | 'tokenKeys'>;

/** The shared base of all processes. */
export type Foundation = {
  configuration: SharedConfiguration;
  log: Logger;
  telemetry: Telemetry;
  /** The metrics port. It reports "not ready" until the process sets its readiness check. */
  observation: Observation;
  database: Database;
};

type FoundationOptions = Pick<Foundation, 'configuration' | 'log' | 'telemetry'> & {
  /** Maximum number of connections to PostgreSQL. */
  poolSize?: number;
};

/**
 * Opens the metrics port and the database. Everything that this and the other `open` functions open is closed with
 * `closing`, in reverse order, also if a later step of the startup fails.
 * @throws Error with a sentence if the metrics port is taken, the driver's error if PostgreSQL is unreachable,
 * SchemaError if the schema belongs to another version
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

/** Returns the sealing of stored secrets. @throws ConfigurationError if a key is missing or has changed */
export async function openSealing({ database }: Foundation, keys: KeyRing): Promise<Sealing> {
  const sealing = createSealing(keys);
  await checkSealedSecrets(database, sealing);
  return sealing;
}

/** Connects to Temporal. @throws if it is unreachable */
export async function openEngine(
  closing: AsyncDisposableStack,
  { configuration, telemetry }: Foundation,
): Promise<Required<Engine>> {
  const engine = await connectTemporal(configuration.payloadKeys, telemetry.tracing);
  closing.defer(() => engine.connection.close());
  return engine;
}
