import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { collectProcessMetrics } from '../telemetry/process-metrics.ts';
import { createRegistry, type Registry } from '../telemetry/registry.ts';
import type { Tracing } from '../telemetry/tracing.ts';

/** The telemetry of a process; null if it is off. */
export type Telemetry = {
  registry: Registry | null;
  tracing: Tracing | null;
  /** Returns the local address at which Temporal's SDK serves its metrics. Calling it means that the SDK does. */
  engineAddress(): string | null;
  /** Returns the metrics of Temporal's SDK in Prometheus format; empty if the process has no worker. */
  engineMetrics(): Promise<string>;
  close(): Promise<void>;
};

/** No metrics and no traces. */
export const NO_TELEMETRY: Telemetry = {
  registry: null,
  tracing: null,
  engineAddress: () => null,
  engineMetrics: async () => '',
  close: async () => {},
};

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Starts metrics if METRICS_PORT is set, and traces if a collector is configured. `name` is the name of the process
 * in its log.
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

/** Configured by the variables of OpenTelemetry. Off in gateways, whose spans would be empty. */
async function startTracing(
  about: { name: string; version: string },
  environment: Environment,
  log: Logger,
): Promise<Tracing | null> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = environment;
  const isOff = environment['OTEL_SDK_DISABLED'] === 'true' || environment['OTEL_TRACES_EXPORTER'] === 'none';
  if ((!all && !traces) || isOff || about.name === 'gateway') return null;
  // Loaded only here, because it costs 60 ms and 15 MB.
  const { createTracing } = await import('../telemetry/tracing.ts');
  return createTracing(about, (message) => log.warn({ component: 'opentelemetry' }, message));
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Returns a port that is free now. The SDK cannot report which port it chose. */
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
