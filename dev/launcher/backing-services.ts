import { readFileSync, writeFileSync } from 'node:fs';
import type { Launch } from './launch.ts';
import { logFileOf } from './log-file.ts';
import type { BackingService } from '../services/backing-service.ts';
import { local } from '../common/paths.ts';
import { startPostgres, withClient, type RunningPostgres } from '../services/postgres.ts';
import type { Say } from '../common/progress.ts';
import { waitForStarts } from './wait-for-starts.ts';
import { keepRunning } from './supervisor.ts';
import { startTemporal, type RunningTemporal } from '../services/temporal.ts';

type Context = Pick<Launch, 'children' | 'onRestarted' | 'setup'> & { say: Say };

/** Returns the ports of the last start. They are reused if they are free, so that bookmarks keep working. */
function lastPorts(): Record<string, number> {
  try {
    const ports = JSON.parse(readFileSync(local('ports.json'), 'utf8')) as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(ports).filter((entry): entry is [string, number] => Number.isInteger(entry[1])),
    );
  } catch {
    return {};
  }
}

function keepPorts(ports: Record<string, number>): void {
  writeFileSync(local('ports.json'), JSON.stringify({ ...lastPorts(), ...ports }));
}

/**
 * Starts PostgreSQL and Temporal concurrently, or connects to those that DATABASE_URL and TEMPORAL_ADDRESS name.
 * Returns the environment variables with which our processes reach them.
 */
export async function startBackingServices(password: string, launch: Launch): Promise<NodeJS.ProcessEnv> {
  const { progress } = launch;
  const context = (say: Say): Context => ({
    children: launch.children,
    setup: launch.setup,
    say,
    onRestarted: () => launch.onRestarted(),
  });
  const url = process.env['DATABASE_URL'];
  const shown = (backing: BackingService) => backing.shown;
  const starting = [
    progress.step(
      'PostgreSQL',
      () => (url ? externalPostgres(url) : embeddedPostgres(password, context(progress.say))),
      shown,
    ),
    progress.step(
      'Temporal',
      () =>
        process.env['TEMPORAL_ADDRESS']
          ? externalTemporal(context(progress.say))
          : embeddedTemporal(context(progress.say)),
      shown,
    ),
  ];
  const { up, check } = await waitForStarts(starting);
  for (const backing of up) launch.stops.push(backing.stop);
  check();
  launch.shutdown.check();
  return Object.assign({}, ...up.map(({ environment }) => environment)) as NodeJS.ProcessEnv;
}

/** Starts the embedded PostgreSQL and restarts it when it exits. */
async function embeddedPostgres(password: string, context: Context): Promise<BackingService> {
  const logFile = logFileOf('postgres');
  const watch = await keepRunning<RunningPostgres>(
    {
      name: 'PostgreSQL',
      logFile,
      start: (previous) =>
        startPostgres({
          dataDir: local('postgres'),
          logFile,
          password,
          port: previous?.port ?? lastPorts()['postgres'],
          samePort: previous !== null,
          say: context.say,
        }),
      onStarted({ pid, port }) {
        keepPorts({ postgres: port });
        context.children.record('postgres', pid, `port=${port}`);
        context.onRestarted();
      },
    },
    context.say,
  );
  const { url, port } = watch.current();
  return { environment: { DATABASE_URL: url() }, shown: `embedded, port ${port}`, stop: watch.stop };
}

/** Starts the Temporal dev server and restarts it when it exits. */
async function embeddedTemporal(context: Context): Promise<BackingService> {
  const logFile = logFileOf('temporal');
  const dbFile = local('temporal.db');
  const last = lastPorts();
  const plan = await context.setup.run('readTemporalPlan', null);
  const watch = await keepRunning<RunningTemporal>(
    {
      name: 'Temporal',
      logFile,
      start: (previous) =>
        startTemporal({
          plan,
          dbFile,
          logFile,
          port: previous?.port ?? last['temporal'],
          uiPort: previous?.uiPort ?? last['temporal_ui'],
          samePorts: previous !== null,
          say: context.say,
        }),
      onStarted({ pid, port, uiPort }) {
        keepPorts({ temporal: port, temporal_ui: uiPort });
        context.children.record('temporal', pid, dbFile);
        context.onRestarted();
      },
    },
    context.say,
  );
  const { address, namespace, uiUrl } = watch.current();
  // Settings for another Temporal service must not apply to this one.
  const others = Object.keys(process.env).filter((name) => name.startsWith('TEMPORAL_'));
  const environment: NodeJS.ProcessEnv = Object.fromEntries(others.map((name) => [name, undefined]));
  const noConfiguration = local('temporal.toml');
  writeFileSync(noConfiguration, '[profile.default]\n');
  environment['TEMPORAL_CONFIG_FILE'] = noConfiguration;
  environment['TEMPORAL_ADDRESS'] = address;
  environment['TEMPORAL_NAMESPACE'] = namespace;
  environment['TEMPORAL_UI_URL'] = uiUrl;
  return { environment, shown: `embedded, Web UI ${uiUrl}`, stop: watch.stop };
}

/** Prepares the Temporal service of TEMPORAL_ADDRESS. @throws Error if it does not respond */
async function externalTemporal({ setup, say }: Context): Promise<BackingService> {
  const shown = await setup.run('externalTemporal', null, say);
  return { environment: {}, shown: `TEMPORAL_ADDRESS, ${shown}`, stop: () => Promise.resolve() };
}

/** Checks the PostgreSQL of DATABASE_URL. @throws Error if it does not respond */
async function externalPostgres(url: string): Promise<BackingService> {
  const shown = URL.canParse(url) ? `${new URL(url).host}${new URL(url).pathname}` : 'not an address';
  try {
    await withClient(url, (client) => client.query('select 1'));
  } catch (error) {
    const reason = error instanceof Error ? error.message || 'no connection' : '';
    throw new Error(`DATABASE_URL (${shown}) cannot be used: ${reason}`, { cause: error });
  }
  return { environment: {}, shown: `DATABASE_URL, ${shown}`, stop: () => Promise.resolve() };
}
