import { readFileSync, renameSync, statSync, writeFileSync, existsSync } from 'node:fs';
import { z } from 'zod';
import type { Launch } from './launch.ts';
import { givenTemporal } from '../services/given-temporal.ts';
import type { Backing } from '../services/backing.ts';
import { local } from '../common/paths.ts';
import { startPostgres, withClient, type RunningPostgres } from '../services/postgres.ts';
import type { Say } from '../common/progress.ts';
import { settle } from './settled.ts';
import { keepRunning } from './supervisor.ts';
import { startTemporal, type RunningTemporal } from '../services/temporal.ts';

type Context = Pick<Launch, 'children' | 'onRestarted'> & { say: Say };

const portsSchema = z.record(z.string(), z.number().int());
const MOST_LOG_BYTES = 20 * 1_048_576;

/** The log file of a child; one that has grown large makes room first. */
export function logFileOf(name: string): string {
  const file = local('logs', `${name}.log`);
  if (existsSync(file) && statSync(file).size > MOST_LOG_BYTES) renameSync(file, `${file}.1`);
  return file;
}

/** Ports of the last start, so that bookmarks keep working where the ports are still free. */
function lastPorts(): Record<string, number> {
  try {
    return portsSchema.parse(JSON.parse(readFileSync(local('ports.json'), 'utf8')));
  } catch {
    return {};
  }
}

function keepPorts(ports: Record<string, number>): void {
  writeFileSync(local('ports.json'), JSON.stringify({ ...lastPorts(), ...ports }));
}

/**
 * Starts PostgreSQL and Temporal side by side, or finds those that DATABASE_URL and TEMPORAL_ADDRESS name, and answers
 * what our own processes need in their environment to reach them.
 */
export async function startBackings(password: string, launch: Launch): Promise<NodeJS.ProcessEnv> {
  const { progress } = launch;
  const context = (say: Say): Context => ({
    children: launch.children,
    say,
    onRestarted: () => launch.onRestarted(),
  });
  const url = process.env['DATABASE_URL'];
  const shown = (backing: Backing) => backing.shown;
  const starting = [
    progress.step(
      'PostgreSQL',
      () => (url ? givenPostgres(url) : embeddedPostgres(password, context(progress.say))),
      shown,
    ),
    progress.step(
      'Temporal',
      () =>
        process.env['TEMPORAL_ADDRESS']
          ? givenTemporal(progress.say)
          : embeddedTemporal(context(progress.say)),
      shown,
    ),
  ];
  const { up, check } = await settle(starting);
  for (const backing of up) launch.stops.push(backing.stop);
  check();
  launch.shutdown.check();
  return Object.assign({}, ...up.map(({ environment }) => environment)) as NodeJS.ProcessEnv;
}

/** The embedded PostgreSQL, kept running. */
async function embeddedPostgres(password: string, context: Context): Promise<Backing> {
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
        context.children.note('postgres', pid, `port=${port}`);
        context.onRestarted();
      },
    },
    context.say,
  );
  const { url, port } = watch.current();
  return { environment: { DATABASE_URL: url() }, shown: `embedded, port ${port}`, stop: watch.stop };
}

/** The Temporal dev server, kept running. */
async function embeddedTemporal(context: Context): Promise<Backing> {
  const logFile = logFileOf('temporal');
  const dbFile = local('temporal.db');
  const last = lastPorts();
  const watch = await keepRunning<RunningTemporal>(
    {
      name: 'Temporal',
      logFile,
      start: (previous) =>
        startTemporal({
          dbFile,
          logFile,
          port: previous?.port ?? last['temporal'],
          uiPort: previous?.uiPort ?? last['temporal_ui'],
          samePorts: previous !== null,
          say: context.say,
        }),
      onStarted({ pid, port, uiPort }) {
        keepPorts({ temporal: port, temporal_ui: uiPort });
        context.children.note('temporal', pid, dbFile);
        context.onRestarted();
      },
    },
    context.say,
  );
  const { address, namespace, uiUrl } = watch.current();
  // What a person has set for another Temporal service must not reach this one.
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

/** The PostgreSQL that DATABASE_URL names. @throws a sentence when it doesn't answer */
async function givenPostgres(url: string): Promise<Backing> {
  const shown = URL.canParse(url) ? `${new URL(url).host}${new URL(url).pathname}` : 'not an address';
  try {
    await withClient(url, (client) => client.query('select 1'));
  } catch (error) {
    const reason = error instanceof Error ? error.message || 'no connection' : '';
    throw new Error(`DATABASE_URL (${shown}) cannot be used: ${reason}`, { cause: error });
  }
  return { environment: {}, shown: `DATABASE_URL, ${shown}`, stop: () => Promise.resolve() };
}
