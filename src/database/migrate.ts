import { connectDatabase } from './connect.ts';

/**
 * Brings the database at `url` to the newest schema. Several processes may do so at once: one works, the
 * others wait for it.
 */
export async function migrate(url: string): Promise<void> {
  const database = await connectDatabase(url, 2);
  try {
    await database.em.fork().transactional(async (em) => {
      await em.execute("select pg_advisory_xact_lock(hashtext('baton migrations'))");
      await database.migrator.up();
    });
  } finally {
    await database.close();
  }
}
