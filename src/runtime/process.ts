import type { Logger } from 'pino';
import { ConfigurationError } from './configuration.ts';
import { createLog } from './log.ts';
import { startTelemetry, NO_TELEMETRY, type Telemetry } from './telemetry.ts';
import { traceOfLine } from './tracing.ts';

/** Something a process runs until it is told to stop. */
export type Running = {
  close(): Promise<void>;
  /** Resolves or rejects when it has stopped by itself. */
  stopped?: Promise<unknown>;
};

/** A process that is still not closed by then is ended. */
const CLOSE_LIMIT_MS = 20_000;

/**
 * The life of a process of ours: log to standard output, start, say when it is ready (a log line, and a message
 * to the parent where there is one), and close in order at SIGTERM or SIGINT. A start that fails is one line in
 * the log and exit code 1.
 */
export async function runProcess(
  name: string,
  start: (log: Logger, telemetry: Telemetry) => Promise<Running>,
): Promise<void> {
  let log = createLog(name);
  let telemetry = NO_TELEMETRY;
  let running: Running;
  try {
    telemetry = await startTelemetry(name, process.env, log);
    const { tracing } = telemetry;
    if (tracing) log = createLog(name, { more: () => traceOfLine(tracing) });
    running = await start(log, telemetry);
  } catch (error) {
    // A configuration that is wrong is said in its own sentences; a stack would only hide them.
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
  // A parent that has died can't tell us to stop.
  process.on('disconnect', () => void close('parent process exited', 0));
  running.stopped?.then(
    () => close('stopped by itself', 1),
    (error: unknown) => {
      log.fatal({ err: error }, 'stopped by an error');
      return close('stopped by an error', 1);
    },
  );
  log.info('ready');
  process.send?.({ ready: true });
}
