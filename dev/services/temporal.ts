import { connect } from 'node:net';
import { Connection } from '@temporalio/client';
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
import { devServerArguments, readTemporalPlan, type TemporalPlan } from './temporal-plan.ts';

export type TemporalOptions = {
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

/**
 * Starts the Temporal dev server with the settings of `temporal-dev.yml`. Resolves when its namespace and search
 * attributes exist. A new start on the same file continues with its data, however the last server ended.
 * @throws Error with the last lines of the log if it does not start
 */
export async function startTemporal(options: TemporalOptions): Promise<RunningTemporal> {
  const plan = readTemporalPlan();
  const binary =
    options.binary ??
    (await findTemporalProgram(temporalCli(plan.version), options.say ? { say: options.say } : {}));
  for (let tries = 1; ; tries++) {
    for (const one of options.samePorts ? [options.port, options.uiPort] : []) {
      if (one !== undefined) await untilFree(one, PORT_LIMIT_MS);
    }
    const port = await freePort(options.port || plan.ports.frontend);
    const uiPort = await freePort(options.uiPort || plan.ports.web_ui);
    const running = await startProcess({
      command: binary,
      args: devServerArguments(plan, { port, uiPort, dbFile: options.dbFile }),
      logFile: options.logFile,
      endsBy: 'SIGINT',
    });
    const address = `127.0.0.1:${port}`;
    const failure = await untilReady(running, address, plan);
    if (failure === null) {
      const { pid, ended, stop, kill } = running;
      const uiUrl = `http://127.0.0.1:${uiPort}`;
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
  address: string,
  plan: TemporalPlan,
): Promise<string | null> {
  let ending: Ending | null = null;
  void running.ended.then((how) => (ending = how));
  const limit = Date.now() + 60_000;
  for (;;) {
    // If a client connects before the port is open, it waits a whole second before it tries again.
    const failure = (await listens(address))
      ? await whatIsMissing(address, plan).catch((error: Error) => error.message)
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

async function whatIsMissing(address: string, plan: TemporalPlan): Promise<string | null> {
  const connection = await Connection.connect({ address, connectTimeout: 1_000 });
  try {
    await connection.workflowService.describeNamespace({ namespace: plan.namespace });
    const known = await connection.operatorService.listSearchAttributes({ namespace: plan.namespace });
    const missing = Object.keys(plan.search_attributes).filter((name) => !(name in known.customAttributes));
    return missing.length === 0 ? null : `the search attributes ${missing.join(', ')} are missing`;
  } finally {
    await connection.close();
  }
}
