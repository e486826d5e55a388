import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../dev/common/free-port.ts';
import { startNodeService } from '../../dev/launcher/node-service.ts';
import { inCheckout } from '../../dev/common/paths.ts';
import { type Installation } from '../../src/runtime/installation.ts';
import { setUpTestInstallation } from '../support/installation.ts';
import { ENTRY_POINTS } from '../support/entry-points.ts';
import { freshDatabase } from '../support/services.ts';
import { settingsOn } from '../support/settings.ts';

export type ProcessName = keyof typeof ENTRY_POINTS;
export const PROCESSES = Object.keys(ENTRY_POINTS) as ProcessName[];

/** A webhook without name, URL and secret. */
export const WEBHOOK = {
  method: 'POST',
  content_type: 'application/json',
  events: [{ event: 'issue.created', filters: [] }],
  include_secret_header: false,
  active: true,
  standard_webhooks: false,
};

/** The service as separate processes, each with a metrics port. */
export type ObservedService = {
  installation: Installation;
  url: string;
  gatewayUrl: string;
  /** Returns the URL of the metrics port of a process. */
  observedAt(name: ProcessName): string;
  /** Returns the log lines of a process. */
  logged(name: ProcessName): Record<string, unknown>[];
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  stop(name: ProcessName): Promise<unknown>;
  close(): Promise<void>;
};

/** Starts the named processes, with these variables in addition to the required ones. */
export async function startObserved(
  environment: Record<string, string> = {},
  names: readonly ProcessName[] = PROCESSES,
): Promise<ObservedService> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-observed-'));
  const database = await freshDatabase();
  const installation = await setUpTestInstallation(database.url);
  const shared = {
    ...process.env,
    ...settingsOn(database.url),
  };
  const ports = new Map<ProcessName, number>();
  for (const name of names) ports.set(name, await freePort());
  const [apiPort, gatewayPort] = [await freePort(), await freePort()];
  const running = new Map<ProcessName, Awaited<ReturnType<typeof startNodeService>>>();
  const logFile = (name: ProcessName) => join(folder, `${name}.log`);
  const start = async (name: ProcessName) => {
    const PORT = String(name === 'gateway' ? gatewayPort : apiPort);
    const own = { PORT, METRICS_PORT: String(ports.get(name)) };
    const started = await startNodeService({
      name,
      root: inCheckout(ENTRY_POINTS[name]),
      logFile: logFile(name),
      environment: { ...shared, ...own, ...environment },
    });
    running.set(name, started);
  };
  const close = async () => {
    await Promise.all([...running.values()].map((one) => one.stop()));
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  };
  const failed = (await Promise.allSettled(names.map(start))).find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') {
    await close();
    throw failed.reason;
  }
  const url = `http://127.0.0.1:${apiPort}`;
  return {
    installation,
    url,
    gatewayUrl: `http://127.0.0.1:${gatewayPort}`,
    observedAt: (name) => `http://127.0.0.1:${ports.get(name)}`,
    logged: (name) =>
      readFileSync(logFile(name), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    send: (method, path, body, headers = {}) =>
      fetch(`${url}${path}`, {
        method,
        headers: { 'X-API-Key': installation.api_key, 'Content-Type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(20_000),
      }),
    stop: async (name) => await running.get(name)?.stop(),
    close,
  };
}

/** One line of a scrape: metric name, labels and value. */
export type Sample = { name: string; labels: Record<string, string>; value: number };

/** Parses the text format of Prometheus. @throws if a line is invalid */
export function samplesOf(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] =
        /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/.exec(line) ?? [];
      if (name === '') throw new Error(`invalid Prometheus line: ${line}`);
      const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)];
      return {
        name,
        labels: Object.fromEntries(pairs.map(([, key = '', shown = '']) => [key, shown])),
        value: Number(value === '+Inf' ? Number.POSITIVE_INFINITY : value),
      };
    });
}

/** Returns the current metrics of a process. */
export async function scrape(service: ObservedService, name: ProcessName): Promise<Sample[]> {
  const response = await fetch(`${service.observedAt(name)}/metrics`);
  if (response.status !== 200) throw new Error(`${name} returned ${response.status}`);
  return samplesOf(await response.text());
}

/** Returns the sum of all samples with this name and these labels; null if there are none. */
export function valueOf(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string> = {},
): number | null {
  const matching = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return matching.length === 0 ? null : matching.reduce((sum, { value }) => sum + value, 0);
}
