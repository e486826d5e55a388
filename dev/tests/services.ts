import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../services/postgres.ts';
import { isAlive } from '../common/processes.ts';
import type { Progress } from '../common/progress.ts';
import { startTemporal } from '../services/temporal.ts';
import { ensureLocalTls, type LocalTls } from '../launcher/tls.ts';

/** The services for tests and benchmarks, as JSON in the environment variable `BATON_TEST_SERVICES`. */
export type ServicesForTests = {
  /** The URL of PostgreSQL's own database. Other databases are on the same server. */
  databaseUrl: string;
  temporalAddress: string;
  namespace: string;
  temporalUiUrl: string;
  tls: LocalTls;
};

const PREFIX = 'baton-test-';

/**
 * Starts a separate PostgreSQL and Temporal for one test run. `durable`: with the production settings of PostgreSQL,
 * for benchmarks. `prefix`: distinguishes services of the same process.
 */
export async function startTestServices(
  progress: Progress,
  options: { durable: boolean; prefix?: string },
): Promise<{ services: ServicesForTests; stop(): Promise<void> }> {
  sweep();
  // The process id in the name shows later runs whether the folder is still in use.
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  chmodSync(folder, 0o711); // PostgreSQL may run as another user
  const cleanUp = () => rmSync(folder, { recursive: true, force: true });
  const titled = (title: string) => (options.prefix === undefined ? title : `${options.prefix}: ${title}`);
  const starting = [
    progress.step(titled('PostgreSQL'), () =>
      startPostgres({
        dataDir: join(folder, 'postgres'),
        logFile: join(folder, 'postgres.log'),
        password: randomBytes(16).toString('hex'),
        durable: options.durable,
        maxConnections: 300,
        say: progress.say,
      }),
    ),
    progress.step(titled('Temporal'), () =>
      startTemporal({
        dbFile: join(folder, 'temporal.db'),
        logFile: join(folder, 'temporal.log'),
        say: progress.say,
      }),
    ),
  ] as const;
  const stop = async () => {
    const settled = await Promise.allSettled(starting);
    const started = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    await Promise.all(started.map((one) => one.stop()));
    cleanUp();
  };
  try {
    const [postgres, temporal] = await Promise.all(starting);
    const tls = await ensureLocalTls(join(folder, 'tls'));
    const { address: temporalAddress, namespace, uiUrl: temporalUiUrl } = temporal;
    return {
      services: { databaseUrl: postgres.url(), temporalAddress, namespace, temporalUiUrl, tls },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Removes the folders of killed test runs. */
function sweep(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]);
    if (owner > 0 && !isAlive(owner)) rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}
