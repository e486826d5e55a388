import type { MigrationObject } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import type { Database } from './database.ts';
import { entities } from './entities.ts';
import { MIGRATIONS } from './migrations/all.ts';

/**
 * `migrations`: those of its migrator. `lockTimeout`: how long a statement waits for a lock, in PostgreSQL's notation;
 * `0`: without limit.
 */
type ConnectOptions = { migrations?: readonly MigrationObject[]; lockTimeout?: string };

/**
 * Opens the database at `url` and checks the connection. `poolSize` is its maximum of connections.
 * @throws if the database is unreachable, with the driver's message
 */
export async function connectDatabase(
  url: string,
  poolSize = 10,
  { migrations = MIGRATIONS, lockTimeout = '0' }: ConnectOptions = {},
): Promise<Database> {
  const orm = new MikroORM({
    clientUrl: url,
    entities: [...entities],
    extensions: [Migrator],
    pool: { min: 0, max: poolSize },
    driverOptions: {
      // The mapper parses host, user and database; the driver also parses the parameters of the URL (`sslmode`).
      connectionString: url,
      ...(lockTimeout === '0' ? {} : { options: `-c lock_timeout=${lockTimeout}` }),
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
