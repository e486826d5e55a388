import { Client } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, type DataConverter } from '@temporalio/common';
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { KeyRing } from '../security/key-ring.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import { loadTemporalConfig } from '../temporal/connection.ts';
import { SEARCH_ATTRIBUTES } from '../temporal/task-messages.ts';
import { dataConverterOf } from './data-converter.ts';
import { NO_TELEMETRY, type Telemetry } from './telemetry.ts';
import { clientInterceptors } from './tracing.ts';

/** The connection of a process to Temporal: workers and client share it, which is what eager start needs. */
export type Engine = {
  connection: NativeConnection;
  client: Client;
  namespace: string;
  /** What clients and workers alike must be given. */
  dataConverter?: DataConverter;
};

/**
 * Connects as Temporal's standard environment says (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TLS, API key). What goes
 * there is encrypted where there are keys for it.
 * @throws where Temporal is out of reach
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
 * Whether the service knows all our search attributes; runs are started without them where it does not, and the
 * log says so once.
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

/** Failures that are ordinary here, and stand in the audit log or the run's own record. */
const ORDINARY = new Set(['CallbackFailed', 'RunFailed']);
const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

/**
 * Sends the SDK's own log lines through ours, and has it count where the process is observed; once per process, before
 * anything connects.
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
    // The processes handle their own signals, in their own order.
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
