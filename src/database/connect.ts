import { MikroORM } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import { entities } from './entities.ts';
import { M0001Tasks } from './migrations/m0001-tasks.ts';
import { M0002KeyNotices } from './migrations/m0002-key-notices.ts';
import { M0003Webhooks } from './migrations/m0003-webhooks.ts';
import { M0004Retention } from './migrations/m0004-retention.ts';
import { M0005Channel } from './migrations/m0005-channel.ts';
import { M0006People } from './migrations/m0006-people.ts';
import { M0007Watching } from './migrations/m0007-watching.ts';
import { M0008Agents } from './migrations/m0008-agents.ts';
import { M0009StepResults } from './migrations/m0009-step-results.ts';
import { M0010LastCalls } from './migrations/m0010-last-calls.ts';

export type Database = Awaited<ReturnType<typeof connectDatabase>>;

/**
 * Opens the database at `url` and proves that it answers. `poolSize` is the most connections it takes.
 * @throws where the database can't be reached, with the driver's message
 */
export async function connectDatabase(url: string, poolSize = 10) {
  const orm = new MikroORM({
    clientUrl: url,
    entities: [...entities],
    extensions: [Migrator],
    pool: { min: 0, max: poolSize },
    // Every request and activity forks its own; this only keeps a forgotten fork from sharing state.
    allowGlobalContext: false,
    // Errors are thrown; nothing that a statement carries belongs on standard output.
    logger: () => {},
    migrations: {
      migrationsList: [
        { name: 'M0001Tasks', class: M0001Tasks },
        { name: 'M0002KeyNotices', class: M0002KeyNotices },
        { name: 'M0003Webhooks', class: M0003Webhooks },
        { name: 'M0004Retention', class: M0004Retention },
        { name: 'M0005Channel', class: M0005Channel },
        { name: 'M0006People', class: M0006People },
        { name: 'M0007Watching', class: M0007Watching },
        { name: 'M0008Agents', class: M0008Agents },
        { name: 'M0009StepResults', class: M0009StepResults },
        { name: 'M0010LastCalls', class: M0010LastCalls },
      ],
      snapshot: false,
      tableName: 'migrations',
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
