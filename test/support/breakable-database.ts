import { mock } from 'node:test';
import type { Database } from '../../src/database/database.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import { eventually } from './eventually.ts';
import { useFixture } from './fixture.ts';
import type { FreshInstallation } from './installation.ts';
import { startRelay } from './relay.ts';

/** A database whose PostgreSQL a test makes unavailable. */
export type BreakableDatabase = {
  database: Database;
  /** Begins an outage. Each reading of the monotonic clock is more than a minute after the last one from now on. */
  fail(): void;
  /** Resolves after an outage has begun and refused several connections. */
  isRefusing(): Promise<void>;
  /** Ends the outage. */
  recover(): void;
  close(): Promise<void>;
};

/** Registers hooks that give a `describe` its own connection to the database of `fresh`, and end an outage after a test. */
export function useBreakableDatabase(fresh: FreshInstallation): BreakableDatabase {
  const breakable = useFixture(async (): Promise<BreakableDatabase> => {
    const relay = await startRelay(fresh.url);
    const url = relay.through(fresh.url);
    const database = await connectDatabase(url.href);
    let failedAt = Number.POSITIVE_INFINITY;
    return {
      database,
      fail() {
        let now = performance.now();
        mock.method(performance, 'now', () => (now += 70_000));
        failedAt = relay.accepted();
        relay.leadTo('http://127.0.0.1:1');
        relay.cut();
      },
      async isRefusing() {
        await eventually('connections are refused', () => relay.accepted() >= failedAt + 3);
      },
      recover() {
        mock.restoreAll();
        failedAt = Number.POSITIVE_INFINITY;
        relay.leadTo(fresh.url);
      },
      async close() {
        await database.close();
        await relay.close();
      },
    };
  });
  afterEach(() => breakable.recover());
  return breakable;
}
