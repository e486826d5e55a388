import type { Logger } from 'pino';
import { ConfigurationError } from './configuration.ts';
import { receiveEnvironment } from './environment-message.ts';
import { createLog } from './log.ts';
import { releaseMemory } from './release-memory.ts';
import { startTelemetry, NO_TELEMETRY, type Telemetry } from './telemetry.ts';
import { traceOfLine } from './tracing.ts';

/** A running service of a process. */
export type Running = {
  close(): Promise<void>;
  /** Settles when it has stopped without a request. */
  stopped?: Promise<unknown>;
};

/** A process that is not closed after this time is ended, in milliseconds. */
const CLOSE_LIMIT_MS = 20_000;

/**
 * Runs a process: logs to standard output, starts, reports that it is ready (a log line, and a message to the parent
 * process if there is one), and closes in order at SIGTERM or SIGINT. A failed start logs one line and exits with
 * code 1.
 */
export async function runProcess(
  name: string,
  start: (log: Logger, telemetry: Telemetry) => Promise<Running>,
): Promise<void> {
  // Node would open its debugger, and other processes of the user could read all secrets with it.
  process.on('SIGUSR1', () => {});
  await receiveEnvironment();
  let log = createLog(name);
  let telemetry = NO_TELEMETRY;
  let running: Running;
  try {
    telemetry = await startTelemetry(name, process.env, log);
    const { tracing } = telemetry;
    if (tracing) log = createLog(name, { more: () => traceOfLine(tracing) });
    running = await start(log, telemetry);
  } catch (error) {
    // A configuration error is complete without a stack.
    const detail = error instanceof ConfigurationError ? {} : { err: error };
    log.fatal(detail, error instanceof Error ? error.message : 'startup failed');
    process.exit(1);
  }
  let isClosing = false;
  const close = async (reason: string, code: number): Promise<void> => {
    if (isClosing) return;
    isClosing = true;
    log.info({ reason }, 'closing');
    setTimeout(() => process.exit(1), CLOSE_LIMIT_MS).unref();
    await running.close().catch((error: unknown) => log.error({ err: error }, 'shutdown failed'));
    await telemetry
      .close()
      .catch((error: unknown) => log.warn({ err: error }, 'sending the last traces failed'));
    log.info('closed');
    process.exit(code);
  };
  process.on('SIGTERM', () => void close('SIGTERM', 0));
  process.on('SIGINT', () => void close('SIGINT', 0));
  // A parent process that has died cannot send a signal.
  process.on('disconnect', () => void close('parent process exited', 0));
  running.stopped?.then(
    () => close('stopped unexpectedly', 1),
    (error: unknown) => {
      log.fatal({ err: error }, 'stopped by an error');
      return close('stopped by an error', 1);
    },
  );
  releaseMemory();
  log.info('ready');
  process.send?.({ ready: true });
}
