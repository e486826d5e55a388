import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { freePort, untilFree } from '../common/free-port.ts';
import {
  describeEnding,
  startProcess,
  tailOf,
  type Ending,
  type RunningProcess,
} from '../common/processes.ts';
import { findTemporalProgram } from './temporal-binary.ts';
import { temporalCli } from './temporal-programs.ts';
import { devServerArguments } from './temporal-arguments.ts';
import { partitionsOf } from './temporal-partitions.ts';
import type { TemporalPlan } from './temporal-plan.ts';

export type TemporalOptions = {
  /** Default: the content of `temporal-dev.yml`. */
  plan?: TemporalPlan;
  logFile: string;
  /** The SQLite file with all data. Without it, the data is lost when the process exits. */
  dbFile?: string;
  /** Used if it is free, otherwise another one. Default: the port in `temporal-dev.yml`. */
  port?: number | undefined;
  uiPort?: number | undefined;
  /** For a restart: waits for the ports and uses no others. */
  samePorts?: boolean;
  /** The path of the `temporal` program. Default: found or downloaded. */
  binary?: string;
  say?: (sentence: string) => void;
};

export type RunningTemporal = {
  /** The `host:port` of the frontend. */
  address: string;
  namespace: string;
  uiUrl: string;
  port: number;
  uiPort: number;
  pid: number;
  ended: Promise<Ending>;
  stop(): Promise<Ending>;
  kill(): Promise<Ending>;
};

const PORT_LIMIT_MS = 10_000;
/** Go collects garbage when the heap has grown by this percentage. Its default, 100, costs 40 MB more under load. */
const GOGC = '50';
/** An `import` of this module would load all of its exports, among them a WebSocket client of 5 MB. */
const { get } = process.getBuiltinModule('node:http');

/**
 * Starts the Temporal dev server with the settings of `temporal-dev.yml`. Resolves when its namespace and search
 * attributes exist. A new start on the same file continues with its data, however the last server ended.
 * @throws Error with the last lines of the log if it does not start
 */
export async function startTemporal(options: TemporalOptions): Promise<RunningTemporal> {
  const plan = options.plan ?? (await import('./temporal-plan.ts')).readTemporalPlan();
  const binary =
    options.binary ??
    (await findTemporalProgram(temporalCli(plan.version), options.say ? { say: options.say } : {}));
  const { dbFile } = options;
  const partitions = partitionsOf(dbFile, plan.task_queue_partitions);
  for (let tries = 1; ; tries++) {
    for (const one of options.samePorts ? [options.port, options.uiPort] : []) {
      if (one !== undefined) await untilFree(one, PORT_LIMIT_MS);
    }
    const port = await freePort(options.port || plan.ports.frontend);
    const uiPort = await freePort(options.uiPort || plan.ports.web_ui);
    const running = await startProcess({
      command: binary,
      args: devServerArguments(plan, { port, uiPort, partitions, dbFile }),
      logFile: options.logFile,
      env: { GOGC, ...process.env },
      endsBy: 'SIGINT',
    });
    const address = `127.0.0.1:${port}`;
    const uiUrl = `http://127.0.0.1:${uiPort}`;
    const failure = await untilReady(running, { address, uiUrl }, plan);
    if (failure === null) {
      const { pid, ended, stop, kill } = running;
      return { address, namespace: plan.namespace, uiUrl, port, uiPort, pid, ended, stop, kill };
    }
    await running.kill();
    const log = tailOf(options.logFile);
    // Another process may have taken a port since.
    if (tries < 3 && /address already in use|can't set frontend port/i.test(log)) continue;
    const full = /no space left|disk is full/i.test(log);
    const reason = full ? 'the disk is full; free some space and start again' : failure;
    throw new Error(`Temporal did not start: ${reason}\n${log}`);
  }
}

/** Returns null if the service has its namespace and all search attributes, otherwise the reason. */
async function untilReady(
  running: RunningProcess,
  { address, uiUrl }: Pick<RunningTemporal, 'address' | 'uiUrl'>,
  plan: TemporalPlan,
): Promise<string | null> {
  let ending: Ending | null = null;
  void running.ended.then((how) => (ending = how));
  const limit = Date.now() + 60_000;
  for (;;) {
    // If a client connects before the port is open, it waits a whole second before it tries again.
    const failure = (await listens(address))
      ? await whatIsMissing(uiUrl, plan).catch((error: Error) => error.message)
      : 'nothing listens on its port';
    if (failure === null) return null;
    if (ending !== null) return `it ended ${describeEnding(ending)}`;
    if (Date.now() > limit) return failure;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

function listens(address: string): Promise<boolean> {
  const [host = '', port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) });
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** Asks the HTTP API of the Web UI, since a client of the frontend would stay in the memory of the launcher. */
async function whatIsMissing(
  uiUrl: string,
  { namespace, search_attributes }: TemporalPlan,
): Promise<string | null> {
  const answer = await getText(`${uiUrl}/api/v1/namespaces/${namespace}/search-attributes`);
  const { customAttributes = {} } = JSON.parse(answer) as { customAttributes?: Record<string, string> };
  const missing = Object.keys(search_attributes).filter((name) => !(name in customAttributes));
  return missing.length === 0 ? null : `the search attributes ${missing.join(', ')} are missing`;
}

/** @throws Error if the response is not successful, or is not complete within a second */
function getText(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, signal: AbortSignal.timeout(1_000) }, (response) => {
      text(response).then((body) => {
        if (response.statusCode === 200) resolve(body);
        else reject(new Error(`its Web UI returned ${response.statusCode}: ${body}`));
      }, reject);
    });
    request.once('error', reject);
  });
}
