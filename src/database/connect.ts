import type { MigrationObject } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import { Client, type ClientConfig, type Pool } from 'pg';
import { breakIfSilent } from './common/silent-connections.ts';
import type { Database } from './database.ts';
import { entities } from './entities.ts';
import { MIGRATIONS } from './migrations/all.ts';

/** PostgreSQL's time limits, in milliseconds; without limit if absent. */
type TimeLimits = {
  statement_timeout?: number;
  lock_timeout?: number;
  idle_in_transaction_session_timeout?: number;
};

/**
 * The time limits of the service (docs/operations.md). No statement reaches them unless something is wrong: a locked
 * table, a frozen process in a transaction.
 */
const SERVICE_LIMITS: TimeLimits = {
  statement_timeout: 120_000,
  lock_timeout: 10_000,
  idle_in_transaction_session_timeout: 60_000,
};

/** How long the server may be silent after the time limit of a statement, in milliseconds, see {@link breakIfSilent}. */
const SILENCE_MS = 30_000;

/** How long a new connection may take until PostgreSQL accepts statements on it, in milliseconds. */
export const CONNECT_MS = 15_000;
/** How long a connection is idle before TCP checks whether the server is there, in milliseconds. */
export const KEEP_ALIVE_MS = 60_000;

/** `migrations`: those of its migrator. `silenceMs`: see {@link SILENCE_MS}. `connectMs`: see {@link CONNECT_MS}. */
type ConnectOptions = {
  migrations?: readonly MigrationObject[];
  limits?: TimeLimits;
  silenceMs?: number;
  connectMs?: number;
};

/**
 * Opens the database at `url` and checks the connection. `poolSize` is its maximum of connections.
 * @throws if the database is unreachable, with the driver's message
 */
export async function connectDatabase(
  url: string,
  poolSize = 10,
  {
    migrations = MIGRATIONS,
    limits = SERVICE_LIMITS,
    silenceMs = SILENCE_MS,
    connectMs = CONNECT_MS,
  }: ConnectOptions = {},
): Promise<Database> {
  const orm = new MikroORM({
    clientUrl: url,
    entities: [...entities],
    extensions: [Migrator],
    pool: { min: 0, max: poolSize },
    driverOptions: {
      // The mapper parses host, user and database; the driver also parses the parameters of the URL (`sslmode`).
      connectionString: url,
      ...limits,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      Client: clientThatConnectsWithin(connectMs),
      onPoolCreated: (pool: Pool) => void pool.on('connect', (client) => breakIfSilent(client, silenceMs)),
    },
    // Every request and activity forks its own entity manager. This prevents shared state after a forgotten fork.
    allowGlobalContext: false,
    // Errors are thrown. Statements may contain secrets and must not be logged.
    logger: () => {},
    migrations: {
      migrationsList: [...migrations],
      snapshot: false,
      tableName: 'migrations',
      allOrNothing: false,
    },
  });
  await orm.connect();
  return orm;
}

/**
 * Returns a class of clients with a time limit for connecting. Otherwise a server that accepts a connection and never answers
 * would occupy a place of the pool permanently. The same option of the pool also limits the wait for a free place, which takes
 * long under load.
 */
function clientThatConnectsWithin(connectMs: number): typeof Client {
  return class extends Client {
    constructor(config: ClientConfig) {
      // The pool hides the password from copies.
      super({ ...config, password: config.password, connectionTimeoutMillis: connectMs });
    }
  };
}
