import { createServer, type ServerResponse } from 'node:http';
import type { Configuration } from './configuration.ts';
import { listenAt } from './http-server.ts';
import { readPoolCounts } from '../database/common/metrics.ts';
import type { Database } from '../database/database.ts';
import { checkReadiness, type DependencyStatus } from '../database/common/readiness.ts';
import { collectPoolMetrics } from '../telemetry/collectors.ts';
import type { Telemetry } from './telemetry.ts';

/** The readiness of a process, with its checks. */
export type Readiness = { status: 'ready' | 'not_ready'; checks: Record<string, DependencyStatus> };

/** The metrics port of a process. */
export type Observation = {
  /** Sets the readiness check of the process. */
  setReadiness(readiness: () => Promise<Readiness>): void;
  close(): Promise<void>;
};

const STARTING: Readiness = {
  status: 'not_ready',
  checks: { process: { status: 'failing', reason: 'The process is starting.' } },
};
const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Opens METRICS_PORT: `/metrics` for Prometheus, `/health/live` and `/health/ready`. Does nothing if it is not
 * configured.
 * @throws Error with a sentence if the port is taken or not allowed
 */
export async function openObservation(
  { metrics }: Pick<Configuration, 'metrics'>,
  { registry, engineMetrics }: Telemetry,
): Promise<Observation> {
  let readiness = async (): Promise<Readiness> => STARTING;
  const setReadiness: Observation['setReadiness'] = (next) => void (readiness = next);
  if (metrics === null || registry === null) return { setReadiness, close: async () => {} };
  const server = createServer((request, response) => {
    const [path] = (request.url ?? '').split('?', 1);
    const answer = async (): Promise<void> => {
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return sendJson(response, 405, { status: 405 });
      if (path === '/health/live') return sendJson(response, 200, { status: 'live' });
      if (path === '/health/ready') return sendReadiness(response, await readiness());
      if (path !== '/metrics') return sendJson(response, 404, { status: 404 });
      const [own, engine] = await Promise.all([registry.text(), engineMetrics()]);
      send(response, 200, PROMETHEUS_TEXT, own + engine);
    };
    answer().catch(() => sendJson(response, 500, { status: 500 }));
  });
  await listenAt(server, { ...metrics, hostFrom: 'METRICS_HOST', portFrom: 'METRICS_PORT' });
  return {
    setReadiness,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/**
 * Returns the readiness of a process with workers: they poll, and PostgreSQL and Temporal respond. A process that accepts
 * work while Temporal is unavailable is ready without it.
 */
export async function readinessOfWorkers(
  database: Database,
  engineReady: () => Promise<unknown>,
  workers: Readonly<Record<string, { state(): string }>>,
  { needsTemporal = true }: { needsTemporal?: boolean } = {},
): Promise<Readiness> {
  const { postgres, temporal } = await checkReadiness(database, engineReady);
  const idle = Object.entries(workers).filter(([, { state }]) => state() !== 'RUNNING');
  const reason = idle
    .map(([name, { state }]) => `The worker for ${name} is ${state().toLowerCase()}.`)
    .join(' ');
  const polling: DependencyStatus =
    idle.length > 0 ? { status: 'failing', reason } : { status: 'ok', reason: null };
  const checks = { postgres, temporal, workers: polling };
  const needed = [postgres, polling, ...(needsTemporal ? [temporal] : [])];
  const isReady = needed.every(({ status }) => status === 'ok');
  return { status: isReady ? 'ready' : 'not_ready', checks };
}

/** Collects the metrics of the database pool. */
export function observeDatabase({ registry }: Telemetry, database: Database): void {
  if (registry) collectPoolMetrics(registry, () => readPoolCounts(database));
}

function sendReadiness(response: ServerResponse, readiness: Readiness): void {
  sendJson(response, readiness.status === 'ready' ? 200 : 503, readiness);
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, status, 'application/json', JSON.stringify(body));
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(text);
}
