import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import type { MigrationObject } from '@mikro-orm/core';
import { lockByName } from './common/lock.ts';
import { connectDatabase } from './connect.ts';
import { MIGRATIONS } from './migrations/all.ts';

/**
 * How long a migration may wait for a locked table, in milliseconds. All later statements on the table wait behind it,
 * so it gives up and tries again.
 */
const LOCK_TIMEOUT_MS = 2_000;
const TRIES = 60;
const RETRY_MS = 1_000;
/** PostgreSQL's codes for a lock timeout and for a deadlock. */
const LOCK_ERRORS = new Set(['55P03', '40P01']);

/**
 * Migrates the database at `url` to the newest schema. If several processes call it at once, one migrates and the
 * others wait. Each migration is a separate transaction, so that none locks one table while it waits for another. If
 * one fails, the earlier ones stay.
 */
export async function migrate(
  url: string,
  migrations: readonly MigrationObject[] = MIGRATIONS,
): Promise<void> {
  const database = await connectDatabase(url, 2, { migrations, limits: { lock_timeout: LOCK_TIMEOUT_MS } });
  try {
    await database.em.fork().transactional(async (em) => {
      await sql`set local lock_timeout = 0`.execute(em.getKysely());
      await lockByName(em, 'migrations');
      await retryWhileLocked(() => database.migrator.up());
    });
  } finally {
    await database.close();
  }
}

async function retryWhileLocked(work: () => Promise<unknown>): Promise<void> {
  for (let tried = 1; ; tried += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (!LOCK_ERRORS.has(codeOf(error)) || tried === TRIES) throw error;
      await wait(RETRY_MS);
    }
  }
}

/** Returns the driver's code of an error or of its cause. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return 'code' in error && typeof error.code === 'string' ? error.code : codeOf(error.cause);
}
