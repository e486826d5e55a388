import { CommanderError } from 'commander';
import { CliError, EXIT } from './exit-codes.ts';
import { createProgram } from './program.ts';

process.once('SIGINT', () => process.exit(EXIT.interrupted));
// `baton task list | head` is no mistake.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.usage),
);

try {
  await createProgram().parseAsync();
} catch (error) {
  process.exitCode = exitCodeFor(error);
}

/** Says what went wrong, never with a stack, and gives the exit code. */
function exitCodeFor(error: unknown): number {
  // Commander has said it already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`baton: ${message}\n`);
  return error instanceof CliError ? error.exitCode : EXIT.usage;
}
