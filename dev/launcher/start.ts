import { rmSync } from 'node:fs';
import { releaseMemory } from '../../src/runtime/release-memory.ts';
import { chooseAddress } from './address.ts';
import { startBackingServices } from './backing-services.ts';
import { banner, credentialsOf } from './credentials.ts';
import type { FirstWorkspace } from './first-workspace.ts';
import { beginChildrenRecord } from './children-record.ts';
import { makeLocalFolder } from './local-folder.ts';
import { takeLock } from './lock.ts';
import type { Launch } from './launch.ts';
import { loadOwnProcesses } from './own-processes.ts';
import { inCheckout, local, START_COMMAND } from '../common/paths.ts';
import { writePrivate } from '../common/private-file.ts';
import { progressOn } from '../common/progress.ts';
import { ensureSecrets } from './secrets.ts';
import { serviceEnvironment } from './service-environment.ts';
import { startSetup } from './setup.ts';
import { listenForShutdown, StopRequested } from './shutdown.ts';
import { stopAll } from './stop-all.ts';

/* `npm start [-- --no-tour]`, `npx baton start [--no-tour]`: runs the whole service on this machine until Ctrl-C. */

const CREDENTIALS = local('credentials.json');

async function main(words: string[]): Promise<number> {
  const unknown = words.find((word) => word !== '--no-tour');
  if (unknown !== undefined) throw new Error(`Unknown argument: ${unknown}. The only option is --no-tour.`);
  const shutdown = listenForShutdown(() => process.exit(130));
  const stops: Launch['stops'] = [];
  let code = 0;
  try {
    await start(stops, shutdown, !words.includes('--no-tour'));
    await shutdown.requested;
  } catch (error) {
    if (!(error instanceof StopRequested)) throw error;
    code = 130;
  } finally {
    if (stops.length > 4) console.log('\n  Stopping …');
    for (const { message } of await stopAll(stops)) {
      console.error(`  Part of the shutdown failed: ${message}`);
      code = 1;
    }
  }
  return code;
}

async function start(stops: Launch['stops'], shutdown: Launch['shutdown'], withTour: boolean): Promise<void> {
  makeLocalFolder(local());
  stops.push(takeLock(local('launcher.pid'), inCheckout('dev', 'launcher', 'start.ts')));
  const progress = progressOn(process.stdout);
  const children = await beginChildrenRecord(local('children.json'), progress.say);
  rmSync(CREDENTIALS, { force: true }); // the file exists only while the service is ready
  stops.push(() => rmSync(CREDENTIALS, { force: true }));

  const address = await chooseAddress(process.env);
  const secrets = ensureSecrets(local('secrets.json'));
  const setup = await startSetup();
  stops.push(setup.stop);
  const launch: Launch = { progress, stops, shutdown, children, setup, onRestarted: () => {} };
  const own = await loadOwnProcesses(launch);
  const [services, screens] = await Promise.allSettled([
    startBackingServices(secrets.database_password, launch),
    progress.step(
      'screens',
      () => setup.run('ensureScreens', null),
      (built) => (built ? 'built' : 'up to date'),
    ),
    // The workers find the bundle. If it cannot be built, they report why.
    setup.run('buildBundle', null).catch(() => {}),
  ]);
  if (services.status === 'rejected') throw services.reason;
  if (screens.status === 'rejected') throw screens.reason;
  const backing = services.value;
  const tls = await progress.step('local certificates', () => setup.run('ensureLocalTls', local('tls')));
  const environment = serviceEnvironment(process.env, backing, { address, secrets, tls });
  const workspace = await prepareDatabase(environment, launch);
  await own.begin(environment);

  const installation = workspace?.installation ?? null;
  const describe = () =>
    credentialsOf(address.baseUrl, installation, environment, { launcher: process.pid, ...children.pids() });
  launch.onRestarted = () => writePrivate(CREDENTIALS, describe());
  launch.onRestarted();
  console.log(banner(describe(), environment));
  if (workspace?.isNew && withTour) {
    const { api_key: apiKey, project_id: projectId } = workspace.installation;
    const say = (line: string) => console.log(`  ${line}`);
    const tour = setup.run('takeTour', { baseUrl: address.baseUrl, apiKey, projectId, tls }, say);
    const failed = (error: Error) => say(`The tour failed: ${error.message}`);
    await Promise.race([tour, shutdown.requested]).catch(failed);
    say(`\n  Ctrl-C stops everything. ${START_COMMAND} continues with the same data.`);
  }
  await setup.stop();
  releaseMemory();
}

async function prepareDatabase(
  environment: NodeJS.ProcessEnv,
  { progress, setup, shutdown }: Launch,
): Promise<FirstWorkspace | null> {
  const url = environment['DATABASE_URL'] ?? '';
  await progress.step('migrations', () => setup.run('migrate', url));
  shutdown.check();
  const workspace = await progress.step(
    'first workspace',
    () => setup.run('ensureFirstWorkspace', url),
    (made) =>
      made === null ? 'created elsewhere: its key is not known here' : made.isNew ? 'created' : 'exists',
  );
  shutdown.check();
  return workspace;
}

if (import.meta.main) {
  process.umask(0o077); // only the owner can read files that are created here
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    const full = code === 'ENOSPC' || /No space left on device|ENOSPC/.test(message);
    console.error(
      `\n${full ? 'The disk is full (no space left on device). Free some space, then start again.' : message}`,
    );
    process.exitCode = 1;
  }
  // Open handles must not keep a stopped launcher alive.
  process.exit();
}
