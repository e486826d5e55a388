import type { TaskState } from '../src/domain/tasks/task-states.ts';

/** What the exit code of `baton` tells a script. */
export const EXIT = {
  ok: 0,
  /** The run that was waited for or watched failed, or the test of a webhook. */
  failed: 1,
  usage: 2,
  /** The run asks for a human. */
  escalated: 3,
  cancelled: 4,
  /** The server said no (4xx). */
  refused: 5,
  /** The server is out of reach, or failed itself (5xx). */
  unavailable: 6,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

export const EXIT_CODES_HELP = `
Exit codes:
  0    success; with --wait and watch: the run completed
  1    the run failed, or the webhook test failed
  2    invalid usage: unknown command, wrong or missing option
  3    the run was escalated
  4    the run was cancelled
  5    the server refused the request (4xx)
  6    the server is unreachable or failed (5xx)
  130  interrupted with Ctrl-C`;

/** For a run that was followed to its end. */
export function exitCodeOf(state: TaskState): number {
  if (state === 'failed' || state === 'escalated' || state === 'cancelled') return EXIT[state];
  return EXIT.ok;
}

/** Ends the command with a sentence for people and an exit code. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

export const usageError = (message: string): CliError => new CliError(EXIT.usage, message);
