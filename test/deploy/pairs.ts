import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../dev/common/free-port.ts';
import { startNodeService } from '../../dev/launcher/node-service.ts';
import { inCheckout } from '../../dev/common/paths.ts';
import { describeEnding } from '../../dev/common/processes.ts';
import type { Child } from '../../dev/launcher/supervisor.ts';
import { type Installation } from '../../src/runtime/installation.ts';
import { setUpTestInstallation } from '../support/installation.ts';
import { ENTRY_POINTS } from '../support/entry-points.ts';
import { freshDatabase } from '../support/services.ts';
import { settingsOn } from '../support/settings.ts';
import { startBalancer, type Balancer } from './balancer.ts';

export type Kind = keyof typeof ENTRY_POINTS;

/** One of the processes. */
export type PairProcess = {
  kind: Kind;
  url: string;
  pid(): number;
  /** Returns the sum of a metric over its labels; 0 if it is missing. */
  metric(name: string): Promise<number>;
  /** Stops it as a rolling restart does, and starts it again. @throws if it did not shut down in order */
  restart(): Promise<void>;
};

/** A response. `json` is loosely typed on purpose. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests read answers of every shape
export type Answered = { status: number; headers: Headers; json: any };

/** Two of every process with an external database and Temporal, each kind behind one address. */
export type Pairs = {
  installation: Installation;
  databaseUrl: string;
  of(kind: Kind): readonly [PairProcess, PairProcess];
  /** The address of both APIs, and that of both gateways. */
  api: Balancer;
  gateways: Balancer;
  /** Sends a request with the installation's key, to both APIs in turn unless `url` selects one. */
  send(
    method: string,
    path: string,
    asked?: { body?: unknown; url?: string; headers?: Record<string, string> },
  ): Promise<Answered>;
  close(): Promise<void>;
};

const KINDS = Object.keys(ENTRY_POINTS) as Kind[];

/** Starts all eight processes concurrently. */
export async function startPairs(environment: Record<string, string> = {}): Promise<Pairs> {
  const database = await freshDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'baton-pairs-'));
  const installation = await setUpTestInstallation(database.url);
  const common = {
    ...process.env,
    ...settingsOn(database.url),
    CHANNEL_IN_API: 'false',
    ...environment,
  };
  const ports: Record<Kind, number[]> = { api: [], gateway: [], 'task-worker': [], 'delivery-worker': [] };
  for (const kind of KINDS) ports[kind] = [await freePort(), await freePort()];
  const balancers = { api: await startBalancer(ports.api), gateway: await startBalancer(ports.gateway) };
  const plans = KINDS.flatMap((kind) => ports[kind].map((port, index) => ({ kind, port, index })));
  const processes = await Promise.all(
    plans.map(({ kind, port, index }) => {
      const logFile = join(folder, `${kind}-${index + 1}.log`);
      const balancer = kind === 'api' || kind === 'gateway' ? balancers[kind] : null;
      return startProcess({ kind, port, logFile, environment: common, balancer });
    }),
  );
  return {
    installation,
    databaseUrl: database.url,
    of(kind) {
      const [first, second] = processes.filter((member) => member.kind === kind);
      if (!first || !second) throw new Error(`no two of ${kind}`);
      return [first, second];
    },
    api: balancers.api,
    gateways: balancers.gateway,
    send: async (method, path, { body, url = balancers.api.url, headers = {} } = {}) => {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { 'X-API-Key': installation.api_key, 'Content-Type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(20_000),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        json: text === '' ? null : JSON.parse(text),
      };
    },
    async close() {
      await Promise.all(processes.map((member) => member.stop()));
      await Promise.all(Object.values(balancers).map((balancer) => balancer.close()));
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startProcess(plan: {
  kind: Kind;
  port: number;
  logFile: string;
  environment: NodeJS.ProcessEnv;
  balancer: Balancer | null;
}): Promise<PairProcess & { stop(): Promise<void> }> {
  const { kind, port, logFile, balancer } = plan;
  const metricsPort = await freePort();
  const environment = { ...plan.environment, PORT: String(port), METRICS_PORT: String(metricsPort) };
  const start = () =>
    startNodeService({ name: kind, root: inCheckout(ENTRY_POINTS[kind]), logFile, environment });
  let running: Child = await start();
  return {
    kind,
    url: `http://127.0.0.1:${port}`,
    pid: () => running.pid,
    async metric(name) {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      const lines = text
        .split('\n')
        .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    },
    async restart() {
      balancer?.withdraw(port);
      await running.stop();
      const ending = await running.ended;
      if (ending.code !== 0) throw new Error(`${kind} ended ${describeEnding(ending)}, see ${logFile}`);
      running = await start();
      balancer?.restore(port);
    },
    stop: async () => void (await running.stop()),
  };
}
