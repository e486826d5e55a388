import type { MigrationObject } from '@mikro-orm/core';
import { MikroORM } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import { entities } from './entities.ts';
import { MIGRATIONS } from './migrations/all.ts';

export type Database = Awaited<ReturnType<typeof connectDatabase>>;

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
) {
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

const builders = new WeakMap<object, ReturnType<typeof newBuilder>>();

function newBuilder(database: Pick<Database, 'em'>) {
  return database.em.fork().getKysely();
}

/** The query builder for statements that an entity manager has no words for, or not fast ones; outside any transaction. */
export function statements(database: Pick<Database, 'em'>) {
  const builder = builders.get(database) ?? newBuilder(database);
  builders.set(database, builder);
  return builder;
}
