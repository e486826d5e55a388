import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../dev/free-port.ts';
import { startNodeService } from '../../dev/node-service.ts';
import { inCheckout } from '../../dev/paths.ts';
import { startPostgres, type RunningPostgres } from '../../dev/postgres.ts';
import { startTemporal, type RunningTemporal } from '../../dev/temporal.ts';
import { setUpInstallation, type Installation } from '../../src/installation.ts';
import { migrate } from '../../src/database/migrate.ts';
import { services } from './services.ts';

type Running = { pid: number; ended: Promise<unknown>; stop(): Promise<unknown> };

/** One process of the service: it can be killed outright and started again where it was. */
export type Part = {
  pid(): number;
  /** SIGKILL to it and its children; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Starts it on the same port and data; resolves when it is ready. */
  start(): Promise<void>;
  /** In good order; one that does not run is fine. */
  stop(): Promise<void>;
  /** False once it has ended, by whatever cause. */
  isRunning(): boolean;
};

/** What was answered; `json` is the parsed body, loosely typed on purpose. */
export type Answered = {
  status: number;
  headers: Headers;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read answers of every shape
  json: any;
};

/** What makes a request; without `headers` it is sent with the installation's API key. */
export type Asked = { body?: unknown; headers?: Record<string, string> };

/** The whole service as an operator runs it: every part a process of its own, with own data and log files. */
export type Service = {
  url: string;
  installation: Installation;
  databaseUrl: string;
  temporalAddress: string;
  namespace: string;
  /** Holds the data and log files of all parts. */
  folder: string;
  /** Secrets that the processes were given. */
  secrets: { databasePassword: string; sealingKey: string; tokenKey: string };
  postgres: Part;
  temporal: Part;
  api: Part;
  worker: Part;
  /** A task worker that runs beside the first one once it is started. */
  secondWorker: Part;
  /** Not running until started. */
  deliveryWorker: Part;
  secondDeliveryWorker: Part;
  /** The live channel in processes of their own; not running until started. */
  gateway: Part;
  secondGateway: Part;
  /** Where the two are. */
  gatewayUrls: readonly [string, string];
  /** @throws where no answer came within 20 s */
  send(method: string, path: string, asked?: Asked): Promise<Answered>;
  submit(members: Record<string, unknown>, headers?: Record<string, string>): Promise<Answered>;
  /** Starts what a test has left dead; the second worker is none of the whole. */
  restore(): Promise<void>;
  close(): Promise<void>;
};

const ANSWER_LIMIT_MS = 20_000;

/** Brings up all parts but the second worker. */
export async function startService(): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-service-'));
  chmodSync(folder, 0o711); // PostgreSQL may run as another user
  const secrets = {
    databasePassword: randomBytes(16).toString('hex'),
    sealingKey: randomBytes(32).toString('base64'),
    tokenKey: randomBytes(32).toString('base64'),
  };
  const postgres = createPart(postgresIn(folder, secrets.databasePassword));
  const temporal = createPart(temporalIn(folder));
  await Promise.all([postgres.start(), temporal.start()]);
  const databaseUrl = postgres.running().url();
  const { address: temporalAddress, namespace } = temporal.running();
  await migrate(databaseUrl);
  const installation = await setUpInstallation(databaseUrl, {
    workspaceName: 'Test',
    projectName: 'First',
    adminEmail: 'owner@example.com',
  });
  const [port, gatewayPort, secondGatewayPort] = [await freePort(), await freePort(), await freePort()];
  const environment = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: namespace,
    BATON_SEALING_KEYS: `test:${secrets.sealingKey}`,
    BATON_TOKEN_KEYS: `test:${secrets.tokenKey}`,
    OUTBOUND_ALLOW: '127.0.0.0/8,::1/128',
    OUTBOUND_CA_FILE: services().tlsFiles.ca,
    LOG_LEVEL: 'debug',
  };
  const ours = (name: string, root: string, ownPort = port) =>
    createPart(() =>
      startNodeService({
        name,
        root: inCheckout(root),
        logFile: join(folder, `${name}.log`),
        environment: { ...environment, PORT: String(ownPort) },
      }),
    );
  const api = ours('api', 'src/api/server.ts');
  const worker = ours('worker', 'workers/task-worker.ts');
  const secondWorker = ours('second-worker', 'workers/task-worker.ts');
  const deliveryWorker = ours('delivery-worker', 'workers/delivery-worker.ts');
  const secondDeliveryWorker = ours('second-delivery-worker', 'workers/delivery-worker.ts');
  const gateway = ours('gateway', 'src/gateway/server.ts', gatewayPort);
  const secondGateway = ours('second-gateway', 'src/gateway/server.ts', secondGatewayPort);
  await Promise.all([api.start(), worker.start()]);

  const url = `http://127.0.0.1:${port}`;
  const service: Service = {
    url,
    installation,
    databaseUrl,
    temporalAddress,
    namespace,
    folder,
    secrets,
    postgres,
    temporal,
    api,
    worker,
    secondWorker,
    deliveryWorker,
    secondDeliveryWorker,
    gateway,
    secondGateway,
    gatewayUrls: [`http://127.0.0.1:${gatewayPort}`, `http://127.0.0.1:${secondGatewayPort}`],
    send: (method, path, asked = {}) =>
      send(`${url}${path}`, method, { headers: { 'X-API-Key': installation.api_key }, ...asked }),
    submit: (members, headers = {}) =>
      service.send('POST', '/api/v1/tasks', {
        body: { title: 'A task', project_id: installation.project_id, ...members },
        headers: { 'X-API-Key': installation.api_key, ...headers },
      }),
    async restore() {
      for (const part of [postgres, temporal, api, worker]) if (!part.isRunning()) await part.start();
      await secondWorker.stop();
    },
    async close() {
      await Promise.all(
        [api, worker, secondWorker, deliveryWorker, secondDeliveryWorker, gateway, secondGateway].map(
          (part) => part.stop(),
        ),
      );
      await Promise.all([postgres.stop(), temporal.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return service;
}

/** A part that `launch` starts; it is told of what ran before. */
function createPart<T extends Running>(launch: (previous: T | null) => Promise<T>): Part & { running(): T } {
  let known: T | null = null;
  let isRunning = false;
  const running = () => {
    if (known === null) throw new Error('a part that was never started');
    return known;
  };
  return {
    running,
    pid: () => running().pid,
    isRunning: () => isRunning,
    async start() {
      const fresh = await launch(known);
      known = fresh;
      isRunning = true;
      void fresh.ended.then(() => {
        if (known === fresh) isRunning = false;
      });
    },
    async kill() {
      const { pid, ended } = running();
      for (const one of [pid, ...childrenOf(pid)]) killOutright(one);
      await ended;
      isRunning = false;
    },
    async stop() {
      if (isRunning) await running().stop();
    },
  };
}

/** PostgreSQL's connections are processes beside the server's, which would end what they are at. */
function childrenOf(pid: number): number[] {
  const listed = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  return listed.stdout
    .split('\n')
    .map(Number)
    .filter((one) => one > 0);
}

function killOutright(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // A connection's process may have ended since it was listed.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function postgresIn(folder: string, password: string) {
  return (previous: RunningPostgres | null) =>
    startPostgres({
      dataDir: join(folder, 'postgres'),
      logFile: join(folder, 'postgres.log'),
      password,
      ...(previous === null ? {} : { port: previous.port, samePort: true }),
    });
}

function temporalIn(folder: string) {
  return (previous: RunningTemporal | null) =>
    startTemporal({
      dbFile: join(folder, 'temporal.db'),
      logFile: join(folder, 'temporal.log'),
      ...(previous === null ? {} : { port: previous.port, uiPort: previous.uiPort, samePorts: true }),
    });
}

async function send(url: string, method: string, { body, headers }: Asked): Promise<Answered> {
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWER_LIMIT_MS),
  });
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== '' ? JSON.parse(text) : null,
  };
}
