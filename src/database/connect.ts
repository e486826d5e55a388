import type { MigrationObject } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import type { Pool } from 'pg';
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

/** `migrations`: those of its migrator. `silenceMs`: see {@link SILENCE_MS}. */
type ConnectOptions = { migrations?: readonly MigrationObject[]; limits?: TimeLimits; silenceMs?: number };

/**
 * Opens the database at `url` and checks the connection. `poolSize` is its maximum of connections.
 * @throws if the database is unreachable, with the driver's message
 */
export async function connectDatabase(
  url: string,
  poolSize = 10,
  { migrations = MIGRATIONS, limits = SERVICE_LIMITS, silenceMs = SILENCE_MS }: ConnectOptions = {},
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
