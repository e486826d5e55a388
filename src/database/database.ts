import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import type { entities } from './entities.ts';

/** An open database, as `connectDatabase` returns it. */
export type Database = MikroORM<EntityManager, (typeof entities)[number][]>;

/** Further work in the transaction of a change, with the changed row. If it throws, the change is rolled back. */
export type WithChange<Row> = (em: Database['em'], row: Row) => Promise<void>;

/** Builds statements, within or outside of a transaction. */
export type QueryBuilder = ReturnType<typeof newBuilder>;

const builders = new WeakMap<object, QueryBuilder>();

function newBuilder(database: Pick<Database, 'em'>) {
  return database.em.fork().getKysely();
}

/**
 * Returns the query builder, for statements that an entity manager cannot express or runs too slowly; outside of any
 * transaction.
 */
export function queryBuilderOf(database: Pick<Database, 'em'>) {
  const builder = builders.get(database) ?? newBuilder(database);
  builders.set(database, builder);
  return builder;
}
