import type { TaskState } from '../src/domain/tasks/task-states.ts';

/** The exit codes of `baton`. */
export const EXIT = {
  ok: 0,
  /** The followed run, the webhook test or another check of a command failed. */
  failed: 1,
  usage: 2,
  /** The run was escalated and needs a decision. */
  escalated: 3,
  cancelled: 4,
  /** The server rejected the request (4xx). */
  refused: 5,
  /** The server is unreachable or failed (5xx). */
  unavailable: 6,
  /** The changes of a file were shown and not applied. */
  unapplied: 7,
  /** Ctrl-C. */
  interrupted: 130,
  /** The reader of stdout closed it: 128 and the number of SIGPIPE. */
  unread: 141,
} as const;

export const EXIT_CODES_HELP = `
Exit codes:
  0    success; with --wait and watch: the run completed
  1    the run, the webhook test or another check failed; export: names are not unique
  2    invalid usage: unknown command, wrong or missing option, invalid file
  3    the run was escalated
  4    the run was cancelled
  5    the server refused the request (4xx)
  6    the server is unreachable or failed (5xx)
  7    apply: there are changes, and they were not applied
  130  interrupted with Ctrl-C
  141  the reader of stdout closed it: watch, --watch, listen, receiver and mcp stop, all others finish`;

/** Returns the exit code for the final state of a run. */
export function exitCodeOf(state: TaskState): number {
  if (state === 'failed' || state === 'escalated' || state === 'cancelled') return EXIT[state];
  return EXIT.ok;
}

/** Ends the command with a message and an exit code. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * The server limits the rate of requests (429), or still handles an earlier request with this idempotency key (409).
 * `retryAfterMs`: when to send the request again, in milliseconds.
 */
export class RetryLater extends CliError {
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super(EXIT.refused, message);
    this.retryAfterMs = retryAfterMs;
  }
}

export const usageError = (message: string): CliError => new CliError(EXIT.usage, message);
