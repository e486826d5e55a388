import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tellOfProcess } from '../src/telemetry/process-figures.ts';
import { createRegistry, type Registry } from '../src/telemetry/registry.ts';

/** What a process is observed by; null where nobody has asked for it. */
export type Telemetry = {
  registry: Registry | null;
  /** Where Temporal's SDK is to serve its own metrics, on this machine only. Asking says that it does. */
  engineAddress(): string | null;
  /** What is there, as Prometheus reads it; empty where the process has no worker. */
  engineMetrics(): Promise<string>;
  close(): Promise<void>;
};

/** Of a process that nobody observes: nothing is counted. */
export const UNOBSERVED: Telemetry = {
  registry: null,
  engineAddress: () => null,
  engineMetrics: async () => '',
  close: async () => {},
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Starts what the environment asks for: figures with METRICS_PORT. `name` is the process's in its log. */
export async function startTelemetry(name: string, environment: Environment): Promise<Telemetry> {
  if (!environment['METRICS_PORT']) return UNOBSERVED;
  const registry = createRegistry();
  const stop = tellOfProcess(registry, { name, version: environment['BATON_BUILD_ID'] || packageVersion() });
  const engineAddress = `127.0.0.1:${await freePort()}`;
  let hasEngine = false;
  return {
    registry,
    engineAddress() {
      hasEngine = true;
      return engineAddress;
    },
    async engineMetrics() {
      if (!hasEngine) return '';
      const answer = await fetch(`http://${engineAddress}/metrics`);
      return await answer.text();
    },
    close: async () => stop(),
  };
}

function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
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
