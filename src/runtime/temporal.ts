import { Client } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, type DataConverter } from '@temporalio/common';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { KeyRing } from '../security/key-ring.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import { loadTemporalConfig } from '../temporal/connection.ts';
import { SENDS_NO_WEBHOOKS } from '../temporal/delivery-messages.ts';
import { SEARCH_ATTRIBUTES } from '../temporal/task-messages.ts';
import { dataConverterOf } from './data-converter.ts';
import { NO_TELEMETRY, type Telemetry } from './telemetry.ts';
import { clientInterceptors } from './tracing.ts';

/** The Temporal connection of a process. Workers and client share it, which eager start requires. */
export type Engine = {
  connection: NativeConnection;
  client: Client;
  namespace: string;
  /** The data converter of clients and workers. */
  dataConverter?: DataConverter;
};

/**
 * Connects with Temporal's standard environment variables (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TLS, API key).
 * Payloads are encrypted if there are keys.
 * @throws if Temporal is unreachable
 */
export async function connectTemporal(
  payloadKeys: KeyRing | null = null,
  tracing: Tracing | null = null,
): Promise<Required<Engine>> {
  const { connectionOptions, namespace } = loadTemporalConfig();
  const connection = await NativeConnection.connect(connectionOptions);
  const dataConverter = dataConverterOf(payloadKeys);
  const interceptors = { workflow: clientInterceptors(tracing) };
  const client = new Client({ connection, namespace, dataConverter, interceptors });
  return { connection, client, namespace, dataConverter };
}

/**
 * Returns true if all search attributes are registered. Otherwise runs are started without them, and a warning is
 * logged once.
 */
export async function knowsSearchAttributes(
  { connection, namespace }: Engine,
  log: Logger,
): Promise<boolean> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    const missing = SEARCH_ATTRIBUTES.filter((name) => !(name in customAttributes));
    if (missing.length === 0) return true;
    log.warn({ missing }, 'search attributes are not registered: the Web UI cannot find runs by them');
  } catch (error) {
    log.warn({ err: error }, 'cannot list search attributes: the Web UI cannot find runs by them');
  }
  return false;
}

/**
 * Expected failures: recorded in the callback log or in the run, of a retry that waits for its turn, or of work for another
 * worker.
 */
const ORDINARY = new Set(['CallbackFailed', 'RunFailed', 'NoFreePlace', SENDS_NO_WEBHOOKS]);
const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/**
 * Redirects the SDK's log to this log, and enables its metrics if metrics are on. Call once per process, before
 * connecting.
 */
export function installRuntime(log: Logger, telemetry: Telemetry = NO_TELEMETRY): void {
  const bindAddress = telemetry.engineAddress();
  const logger = new DefaultLogger('WARN', ({ level, message, meta }) => {
    const { error, ...rest } = meta ?? {};
    const isOrdinary = isOrdinaryFailure(error) || /^No (workflows|activities) registered/.test(message);
    log[isOrdinary ? 'debug' : LEVELS[level]]({ ...rest, err: error, component: 'temporal' }, message);
  });
  Runtime.install({
    logger,
    // The processes handle signals themselves.
    shutdownSignals: [],
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) },
      ...(bindAddress === null
        ? {}
        : { metrics: { prometheus: { bindAddress, useSecondsForDurations: true, unitSuffix: true } } }),
    },
  });
}

function isOrdinaryFailure(error: unknown): boolean {
  if (error instanceof CancelledFailure) return true;
  return error instanceof ApplicationFailure && ORDINARY.has(error.type ?? '');
}
