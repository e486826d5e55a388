import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { collectProcessMetrics } from '../telemetry/process-metrics.ts';
import { createRegistry, type Registry } from '../telemetry/registry.ts';
import type { Tracing } from '../telemetry/tracing.ts';

/** What a process is observed by; null where nobody has asked for it. */
export type Telemetry = {
  registry: Registry | null;
  tracing: Tracing | null;
  /** Where Temporal's SDK is to serve its own metrics, on this machine only. Asking says that it does. */
  engineAddress(): string | null;
  /** What is there, as Prometheus reads it; empty where the process has no worker. */
  engineMetrics(): Promise<string>;
  close(): Promise<void>;
};

/** Of a process that nobody observes: nothing is counted. */
export const NO_TELEMETRY: Telemetry = {
  registry: null,
  tracing: null,
  engineAddress: () => null,
  engineMetrics: async () => '',
  close: async () => {},
};

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Starts what the environment asks for: figures with METRICS_PORT, traces with the address of a collector. `name` is the
 * process's in its log.
 */
export async function startTelemetry(
  name: string,
  environment: Environment,
  log: Logger,
): Promise<Telemetry> {
  const about = { name, version: environment['BATON_BUILD_ID'] || packageVersion() };
  const metrics = environment['METRICS_PORT'] ? await startMetrics(about) : null;
  const tracing = await startTracing(about, environment, log);
  if (!metrics && !tracing) return NO_TELEMETRY;
  return {
    ...(metrics ?? NO_TELEMETRY),
    tracing,
    async close() {
      metrics?.stop();
      await tracing?.close();
    },
  };
}

async function startMetrics(about: { name: string; version: string }) {
  const registry = createRegistry();
  const stop = collectProcessMetrics(registry, about);
  const engineAddress = `127.0.0.1:${await freePort()}`;
  let hasEngine = false;
  return {
    registry,
    stop,
    engineAddress() {
      hasEngine = true;
      return engineAddress;
    },
    async engineMetrics() {
      if (!hasEngine) return '';
      const answer = await fetch(`http://${engineAddress}/metrics`);
      return await answer.text();
    },
  };
}

/** By the variables of OpenTelemetry; a gateway's part in a trace would be empty. */
async function startTracing(
  about: { name: string; version: string },
  environment: Environment,
  log: Logger,
): Promise<Tracing | null> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = environment;
  const isOff = environment['OTEL_SDK_DISABLED'] === 'true' || environment['OTEL_TRACES_EXPORTER'] === 'none';
  if ((!all && !traces) || isOff || about.name === 'gateway') return null;
  // Some 60 ms and 15 MB that nobody else shall pay for.
  const { createTracing } = await import('../telemetry/tracing.ts');
  return createTracing(about, (message) => log.warn({ component: 'opentelemetry' }, message));
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** A port that is free at this moment; the SDK can't say which one it took by itself. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
