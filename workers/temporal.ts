import { Client } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';

/** The connection of a process to Temporal: workers and client share it, which is what eager start needs. */
export type Engine = { connection: NativeConnection; client: Client; namespace: string };

/**
 * Connects as Temporal's standard environment says (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TLS, API key).
 * @throws where Temporal is out of reach
 */
export async function connectTemporal(): Promise<Engine> {
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  const connection = await NativeConnection.connect(connectionOptions);
  return { connection, client: new Client({ connection, namespace }), namespace };
}

/** Sends the SDK's own log lines through ours; once per process, before anything connects. */
export function installRuntime(log: Logger): void {
  const levels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
  const logger = new DefaultLogger('WARN', ({ level, message, meta }) => {
    log[levels[level]]({ ...meta, component: 'temporal' }, message);
  });
  // The processes handle their own signals, in their own order.
  Runtime.install({ logger, shutdownSignals: [] });
}
