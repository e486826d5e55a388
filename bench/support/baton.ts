import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE_OPTIONS, startNodeService } from '../../dev/launcher/node-service.ts';
import { freePort } from '../../dev/common/free-port.ts';
import { inCheckout } from '../../dev/common/paths.ts';
import { setUpInstallation, type Installation } from '../../src/runtime/installation.ts';
import { freshDatabase, services, type FreshDatabase } from '../../test/support/services.ts';
import { READY_FILE } from './profiles.ts';

/** The measured processes of the service, with a separate database. */
export type BatonUnderTest = {
  fresh: FreshDatabase;
  installation: Installation;
  url: string;
  /** Starts one of our processes. `nodeOptions` replace its default ones, `changes` are added to its environment. */
  start(
    name: string,
    file: string,
    nodeOptions?: string[],
    changes?: NodeJS.ProcessEnv,
  ): ReturnType<typeof startNodeService>;
};

/** Prepares a database and the settings. `profiled`: a folder for CPU profiles of each process. */
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
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
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
  return {
    fresh,
    installation,
    url: `http://127.0.0.1:${port}`,
    async start(name, file, given, changes = {}) {
      const profile = given === undefined && profiled !== undefined ? join(profiled, name) : null;
      const nodeOptions = profile === null ? given : profilingOptions(profile);
      const child = await startNodeService({
        name,
        root: inCheckout(file),
        logFile: join(folder, `${name}.log`),
        environment: { ...environment, ...changes },
        ...(nodeOptions ? { nodeOptions } : {}),
      });
      // Work before the process is ready does not count as load.
      if (profile) writeFileSync(join(profile, READY_FILE), `${process.hrtime.bigint() / 1_000n}`);
      return child;
    },
  };
}

/** Returns the options of our processes, with a profile of each thread in a separate folder. */
function profilingOptions(folder: string): string[] {
  mkdirSync(folder, { recursive: true });
  return [...NODE_OPTIONS, '--cpu-prof', `--cpu-prof-dir=${folder}`];
}
