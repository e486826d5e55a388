import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNodeService } from '../../dev/node-service.ts';
import { freePort } from '../../dev/free-port.ts';
import { inCheckout } from '../../dev/paths.ts';
import { setUpInstallation, type Installation } from '../../src/installation.ts';
import { freshDatabase, services, type FreshDatabase } from '../../test/support/services.ts';

/** The service's processes under measurement, on a database of their own. */
export type BatonUnderTest = {
  fresh: FreshDatabase;
  installation: Installation;
  url: string;
  /** Starts one of our processes from its root; `nodeOptions` replace those that ours run with. */
  start(name: string, file: string, nodeOptions?: string[]): ReturnType<typeof startNodeService>;
};

/** `profiled`: a folder that gets a CPU profile of each process. */
export async function prepareBaton(profiled?: string): Promise<BatonUnderTest> {
  const fresh = await freshDatabase();
  const installation = await setUpInstallation(fresh.url, {
    workspaceName: 'Bench',
    projectName: 'Bench',
    adminEmail: 'bench@example.com',
  });
  const ring = `bench:${randomBytes(32).toString('base64')}`;
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'baton-bench-'));
  const environment = {
    ...process.env,
    DATABASE_URL: fresh.url,
    TEMPORAL_ADDRESS: services().temporalAddress,
    BATON_SEALING_KEYS: ring,
    BATON_TOKEN_KEYS: ring,
    OUTBOUND_ALLOW: '127.0.0.0/8,::1/128',
    OUTBOUND_CA_FILE: services().tlsFiles.ca,
    RATE_LIMIT_PER_SECOND: '100000',
    RATE_LIMIT_BURST: '100000',
    EVENTS_RATE_LIMIT_PER_SECOND: '100000',
    LOG_LEVEL: 'warn',
    PORT: String(port),
  };
  const profiling =
    profiled === undefined
      ? undefined
      : ['--import', inCheckout('workers', 'sandbox-preload.ts'), '--cpu-prof', `--cpu-prof-dir=${profiled}`];
  return {
    fresh,
    installation,
    url: `http://127.0.0.1:${port}`,
    start: (name, file, nodeOptions = profiling) =>
      startNodeService({
        name,
        root: inCheckout(file),
        logFile: join(folder, `${name}.log`),
        environment,
        ...(nodeOptions ? { nodeOptions } : {}),
      }),
  };
}
