import type { Readable, Writable } from 'node:stream';
import type { Command } from 'commander';
import { EXIT } from './exit-codes.ts';

type Terminal = { isTTY?: boolean; columns?: number; rows?: number };

/** The streams and the environment of a command: those of the process, or those of a test. */
export type Io = {
  env: NodeJS.ProcessEnv;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & Terminal;
  stderr: Writable & Terminal;
  /** The exit code of a command that ends without an error. */
  exitCode: number;
  /** Aborted when the reader of stdout has closed it. Later output is lost. */
  unread: AbortSignal;
  /** Returns a signal that the first of these process signals aborts. They no longer end the process themselves. */
  abortedBy(names: readonly NodeJS.Signals[]): AbortSignal;
};

/** Returns what the commands of this process read and write. */
export function processIo(unread: AbortSignal = new AbortController().signal): Io {
  const { env, stdin, stdout, stderr } = process;
  return {
    env,
    stdin,
    stdout,
    stderr,
    exitCode: 0,
    unread,
    abortedBy(names) {
      const aborting = new AbortController();
      for (const name of names) {
        process.removeAllListeners(name);
        // Once: the second signal ends the process at once.
        process.once(name, () => aborting.abort());
      }
      return aborting.signal;
    },
  };
}

/** Ends the process with exit code 141 when stdout has no reader. For commands that only write until they are stopped. */
export function endWithoutReader({ unread }: Pick<Io, 'unread'>): void {
  const end = () => process.exit(EXIT.unread);
  if (unread.aborted) end();
  unread.addEventListener('abort', end);
}

const known = new WeakMap<Command, Io>();

/** Gives a program, and with it all its commands, what they read and write. */
export function connectIo(program: Command, io: Io): void {
  known.set(program, io);
}

/** Returns what a command reads and writes. @throws when its program was not connected */
export function ioOf(command: Command): Io {
  let program = command;
  while (program.parent !== null) program = program.parent;
  const io = known.get(program);
  if (io === undefined) throw new Error('a program without input and output');
  return io;
}
