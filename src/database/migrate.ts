import { setTimeout as wait } from 'node:timers/promises';
import type { MigrationObject } from '@mikro-orm/core';
import { connectDatabase } from './connect.ts';
import { MIGRATIONS } from './migrations/all.ts';

/**
 * How long a migration may wait for a table that others are at. Meanwhile everybody who comes after it waits as well, so
 * it gives up then and tries again.
 */
const LOCK_TIMEOUT = '2s';
const TRIES = 60;
const REST_MS = 1_000;
/** PostgreSQL's codes for a lock that was not had in time, and for two who wait for each other. */
const LOCKED_OUT = new Set(['55P03', '40P01']);

/**
 * Brings the database at `url` to the newest schema. Several processes may do so at once: one works, the
 * others wait for it. Each migration is a transaction of its own, so that none holds one table while it waits for another;
 * where one fails, those before it stay.
 */
export async function migrate(
  url: string,
  migrations: readonly MigrationObject[] = MIGRATIONS,
): Promise<void> {
  const database = await connectDatabase(url, 2, { migrations, lockTimeout: LOCK_TIMEOUT });
  try {
    await database.em.fork().transactional(async (em) => {
      await em.execute('set local lock_timeout = 0');
      await em.execute("select pg_advisory_xact_lock(hashtext('baton migrations'))");
      await untilNotLockedOut(() => database.migrator.up());
    });
  } finally {
    await database.close();
  }
}

async function untilNotLockedOut(work: () => Promise<unknown>): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (!LOCKED_OUT.has(codeOf(error)) || tried === TRIES) throw error;
      await wait(REST_MS);
    }
  }
}

/** The driver's code of an error, or of what caused it. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return 'code' in error && typeof error.code === 'string' ? error.code : codeOf(error.cause);
}
