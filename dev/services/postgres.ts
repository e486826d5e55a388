import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePort, untilFree } from '../common/free-port.ts';
import { placeFor, type PostgresPlace } from './postgres-place.ts';
import {
  endLeftover,
  describeEnding,
  startProcess,
  tailOf,
  type Ending,
  type RunningProcess,
} from '../common/processes.ts';

export type PostgresPlan = {
  /** The folder of the cluster. The first start creates it. */
  dataDir: string;
  logFile: string;
  password: string;
  /** Used if it is free, otherwise another one. Default: any free port. */
  port?: number | undefined;
  /** For a restart: waits for the port and uses no other. */
  samePort?: boolean;
  /** False for tests: a killed server loses nothing, but a power failure would lose data. */
  durable?: boolean;
  /** Default: 100, twice what the processes of `npm start` use. Each costs 40 kB, used or not. */
  maxConnections?: number;
  say?: (sentence: string) => void;
};

export type RunningPostgres = {
  /** Returns the URL of the database `name`, by default `baton`. */
  url(name?: string): string;
  port: number;
  pid: number;
  ended: Promise<Ending>;
  stop(): Promise<Ending>;
  kill(): Promise<Ending>;
};

const USER = 'baton';
const DATABASE = 'baton';
const PORT_LIMIT_MS = 10_000;

/**
 * Starts the embedded PostgreSQL on a data folder. Resolves when it accepts connections and the database `baton`
 * exists. A new start on the same folder continues with its data, however the last server ended. A server that an
 * earlier launcher left running is stopped first.
 * @throws Error with the last lines of the log if it does not start
 */
export async function startPostgres(plan: PostgresPlan): Promise<RunningPostgres> {
  const place = placeFor(plan.dataDir);
  if (place.notice !== null) plan.say?.(place.notice);
  const data = join(place.home, 'data');
  if (!existsSync(join(data, 'initialised'))) createCluster(place, data, plan.password);
  await endOrphan(data, plan.say);
  for (let tries = 1; ; tries++) {
    if (plan.samePort && plan.port !== undefined) await untilFree(plan.port, PORT_LIMIT_MS);
    const port = await freePort(plan.port);
    const running = await startProcess({
      command: join(place.binaries, 'bin', 'postgres'),
      args: serverArguments(data, port, plan),
      logFile: plan.logFile,
      env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
      cwd: data,
      as: place.user,
      endsBy: 'SIGINT', // PostgreSQL's "fast" shutdown
    });
    const url = (name = DATABASE) =>
      `postgresql://${USER}:${encodeURIComponent(plan.password)}@127.0.0.1:${port}/${name}`;
    const failure = await untilReady(running, url('postgres'));
    if (failure === null) {
      await ensureDatabase(url('postgres'));
      return { url, port, pid: running.pid, ended: running.ended, stop: running.stop, kill: running.kill };
    }
    await running.kill();
    // Another process may have taken the port since.
    const log = tailOf(plan.logFile);
    if (tries < 3 && /Address already in use/.test(log)) continue;
    throw new Error(`PostgreSQL did not start: ${explained(failure, log)}\n${log}`);
  }
}

function serverArguments(
  data: string,
  port: number,
  { durable = true, maxConnections = 100 }: Pick<PostgresPlan, 'durable' | 'maxConnections'>,
): string[] {
  const settings: Record<string, string> = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: String(maxConnections),
    shared_buffers: '128MB',
    // Both would keep processes that a database of one machine does not need: 2 MB each.
    io_method: 'sync',
    max_logical_replication_workers: '0',
    // The minimum. These locks are for serializable transactions, which the service does not use: 2 to 4 MB.
    max_pred_locks_per_transaction: '10',
    log_min_messages: 'warning',
    logging_collector: 'off',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return ['-D', data, ...flags];
}

/** Creates the cluster. The file `initialised` is written last and marks it as complete. */
function createCluster(place: PostgresPlace, data: string, password: string): void {
  rmSync(data, { recursive: true, force: true });
  const passwordFile = join(place.home, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (place.user !== undefined) chownSync(passwordFile, place.user.uid, place.user.gid);
  const made = spawnSync(
    join(place.binaries, 'bin', 'initdb'),
    // The built-in locale is the same on every machine, whatever locales it has.
    [
      '-D',
      data,
      '-U',
      USER,
      `--pwfile=${passwordFile}`,
      '-A',
      'scram-sha-256',
      '-E',
      'UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-sync',
      '--no-instructions',
    ],
    { ...place.user, cwd: '/', encoding: 'utf8', env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' } },
  );
  rmSync(passwordFile, { force: true });
  if (made.status !== 0) {
    const reason = made.error?.message ?? made.stderr.trim();
    throw new Error(`Cannot initialize PostgreSQL's data in ${data}: ${explained(reason, reason)}`);
  }
  writeFileSync(join(data, 'initialised'), '');
}

/** Returns the best explanation of a failure. A full disk is only reported in the log. */
function explained(failure: string, log: string): string {
  return /No space left on device|ENOSPC/.test(log)
    ? 'the disk is full (no space left on device); free some space and start again'
    : failure;
}

async function endOrphan(data: string, say?: (sentence: string) => void): Promise<void> {
  const file = join(data, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  if (await endLeftover(pid, data, 'SIGINT'))
    say?.(`stopped PostgreSQL (process ${pid}), left over from an earlier start`);
  // The process with that id is not the server of this cluster. But PostgreSQL would refuse to start if it belongs to
  // the same user.
  rmSync(file, { force: true });
}

/** Resolves with null when the server accepts connections, otherwise with the reason. */
async function untilReady(running: RunningProcess, url: string, limitMs = 60_000): Promise<string | null> {
  let ending: Ending | null = null;
  void running.ended.then((how) => (ending = how));
  const limit = Date.now() + limitMs;
  for (;;) {
    const failure = await withClient(url, (client) => client.query('select 1')).then(
      () => null,
      (error: Error) => error.message,
    );
    if (failure === null) return null;
    if (ending !== null) return `it ended ${describeEnding(ending)}`;
    if (Date.now() > limit) return `it does not accept connections: ${failure}`;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

async function ensureDatabase(url: string): Promise<void> {
  await withClient(url, async (client) => {
    const found = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
    if (found.rowCount === 0) await client.query(`create database ${DATABASE}`);
  });
}

/** Runs `work` with a connection to the database at `url`, and closes it in any case. */
export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 30_000 });
  client.on('error', () => {}); // the next query reports it
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}
