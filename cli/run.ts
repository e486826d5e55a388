import { CommanderError } from 'commander';
import { CliError, EXIT } from './exit-codes.ts';
import type { Io } from './io.ts';
import { printableLines } from './output.ts';
import { createProgram } from './program.ts';

/** Runs one command. Prints errors to stderr without a stack, and returns the exit code. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  try {
    await createProgram(io).parseAsync(args, { from: 'user' });
    return io.exitCode;
  } catch (error) {
    // Commander has already printed its message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const message = error instanceof Error ? error.message : String(error);
    io.stderr.write(`baton: ${printableLines(message).join('\n')}\n`);
    return error instanceof CliError ? error.exitCode : EXIT.usage;
  }
}
