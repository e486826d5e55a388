import type { MigrationObject } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import type { Database } from './database.ts';
import { entities } from './entities.ts';
import { MIGRATIONS } from './migrations/all.ts';

/** What its migrator knows, and how long a statement waits for a lock, as PostgreSQL writes it; `0` is without end. */
type Opening = { migrations?: readonly MigrationObject[]; lockTimeout?: string };

/**
 * Opens the database at `url` and proves that it answers. `poolSize` is the most connections it takes.
 * @throws where the database can't be reached, with the driver's message
 */
export async function connectDatabase(
  url: string,
  poolSize = 10,
  { migrations = MIGRATIONS, lockTimeout = '0' }: Opening = {},
): Promise<Database> {
  const orm = new MikroORM({
    clientUrl: url,
    entities: [...entities],
    extensions: [Migrator],
    pool: { min: 0, max: poolSize },
    driverOptions: {
      // The mapper takes host, user and database of the address; what stands behind them (`sslmode`) the driver reads.
      connectionString: url,
      ...(lockTimeout === '0' ? {} : { options: `-c lock_timeout=${lockTimeout}` }),
    },
    // Every request and activity forks its own; this only keeps a forgotten fork from sharing state.
    allowGlobalContext: false,
    // Errors are thrown; nothing that a statement carries belongs on standard output.
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
