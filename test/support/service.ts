import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { freePort } from '../../dev/common/free-port.ts';
import { startNodeService } from '../../dev/launcher/node-service.ts';
import { inCheckout } from '../../dev/common/paths.ts';
import { type Installation } from '../../src/runtime/installation.ts';
import { migrate } from '../../src/database/migrate.ts';
import { setUpTestInstallation } from './installation.ts';
import { createPart, postgresIn, temporalIn, type Part } from './parts.ts';
import { services } from './services.ts';

export type { Part } from './parts.ts';

/** A response. `json` is the parsed body, loosely typed on purpose. */
export type Answered = {
  status: number;
  headers: Headers;
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read answers of every shape
  json: any;
};

/** The options of a request. Without `headers` it has the installation's API key. */
export type Asked = { body?: unknown; headers?: Record<string, string> };

/** The whole service as in production: every part is a separate process with its own data and log files. */
export type Service = {
  url: string;
  installation: Installation;
  databaseUrl: string;
  temporalAddress: string;
  namespace: string;
  /** Holds the data and log files of all parts. */
  folder: string;
  /** The secrets in the environment of the processes. */
  secrets: { databasePassword: string; sealingKey: string; tokenKey: string };
  postgres: Part;
  temporal: Part;
  api: Part;
  worker: Part;
  /** A second task worker; not running until it is started. */
  secondWorker: Part;
  /** Not running until it is started. */
  deliveryWorker: Part;
  secondDeliveryWorker: Part;
  /** The live channel in separate processes; not running until they are started. */
  gateway: Part;
  secondGateway: Part;
  /** The URLs of the two gateways. */
  gatewayUrls: readonly [string, string];
  /** @throws without a response within 20 s */
  send(method: string, path: string, asked?: Asked): Promise<Answered>;
  submit(fields: Record<string, unknown>, headers?: Record<string, string>): Promise<Answered>;
  /** Starts the parts that a test has killed, and stops the second worker. */
  restore(): Promise<void>;
  close(): Promise<void>;
};

const ANSWER_LIMIT_MS = 20_000;

/** Starts the service with one API and one task worker. `variables`: further environment variables. */
export async function startService(variables: Record<string, string> = {}): Promise<Service> {
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
  const installation = await setUpTestInstallation(databaseUrl);
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
    ...variables,
  };
  const nodePart = (name: string, root: string, ownPort = port) =>
    createPart(() =>
      startNodeService({
        name,
        root: inCheckout(root),
        logFile: join(folder, `${name}.log`),
        environment: { ...environment, PORT: String(ownPort) },
      }),
    );
  const api = nodePart('api', 'src/api/server.ts');
  const worker = nodePart('worker', 'workers/task-worker.ts');
  const secondWorker = nodePart('second-worker', 'workers/task-worker.ts');
  const deliveryWorker = nodePart('delivery-worker', 'workers/delivery-worker.ts');
  const secondDeliveryWorker = nodePart('second-delivery-worker', 'workers/delivery-worker.ts');
  const gateway = nodePart('gateway', 'src/gateway/server.ts', gatewayPort);
  const secondGateway = nodePart('second-gateway', 'src/gateway/server.ts', secondGatewayPort);
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
    submit: (fields, headers = {}) =>
      service.send('POST', '/api/v1/tasks', {
        body: { title: 'A task', project_id: installation.project_id, ...fields },
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

/** Calls `work` with a client of the service's Temporal, and closes its connection afterwards. */
export async function withTemporal<T>(
  { temporalAddress, namespace }: Pick<Service, 'temporalAddress' | 'namespace'>,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const connection = await Connection.connect({ address: temporalAddress });
  try {
    return await work(new Client({ connection, namespace }));
  } finally {
    await connection.close();
  }
}

/** Sends a request with a JSON body and reads the response. `json` is null if it is not JSON. Times out after 20 s. */
export async function send(url: string, method: string, { body, headers }: Asked): Promise<Answered> {
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
