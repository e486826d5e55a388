import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A program that works for an agent: an MCP server on standard input and output, or an agent that is a command. */
export type Program = { command: string; args: readonly string[]; cwd?: string | undefined };

export type RunningProgram = {
  /** Writes one line. */
  send(line: string): void;
  /** How it ended: by itself, or by {@link RunningProgram.end}. Never rejects. */
  readonly ended: Promise<ProgramEnd>;
  /** Closes its input, then ends it with all its children: asked first, made to after {@link GRACE_MS}. */
  end(): Promise<void>;
};

export type ProgramEnd = { code: number | null; signal: NodeJS.Signals | null; fault: string | null };

type OutputHandlers = {
  onLine(line: string): void;
  /** A line of its standard error. */
  onDiagnostic(line: string): void;
};

/** How long a program that was asked to end has to do so, in milliseconds. */
const GRACE_MS = 2_000;
/** The longest line that is taken, in characters. */
export const LONGEST_LINE = 4_194_304;
/** What a program gets of the environment without being named. */
const ALWAYS_PASSED = ['PATH', 'HOME'];

/** Groups that run now; they must not outlive this process. */
const running = new Set<ChildProcessWithoutNullStreams>();
let isWatching = false;

/**
 * What a program may see of an environment: PATH, HOME and the variables that are named for it.
 * @throws Error that names a variable which is not set
 */
export function environmentOf(
  names: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const chosen: Record<string, string> = {};
  for (const name of [...ALWAYS_PASSED, ...names]) {
    const value = environment[name];
    if (value !== undefined) chosen[name] = value;
    else if (!ALWAYS_PASSED.includes(name)) throw new Error(`the environment variable ${name} is not set`);
  }
  return chosen;
}

/** Starts a program as the head of a process group of its own, so that it can be ended with all it has started. */
export function startProgram(
  program: Program,
  env: Record<string, string>,
  handlers: OutputHandlers,
): RunningProgram {
  const child = spawn(program.command, program.args, {
    env,
    ...(program.cwd === undefined ? {} : { cwd: program.cwd }),
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  keepTrack(child);
  let fault: string | null = null;
  const ended = new Promise<ProgramEnd>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      fault ??=
        error.code === 'ENOENT' ? `program not found: ${program.command}` : `cannot start (${error.code})`;
      if (child.pid === undefined) resolve({ code: null, signal: null, fault });
    });
    child.once('close', (code, signal) => resolve({ code, signal, fault }));
    // What it has started may hold its output open; it counts as ended all the same.
    child.once('exit', () => setTimeout(() => killGroup(child, 'SIGKILL'), 100).unref());
  });
  // A program that is gone can't be written to; `ended` says so.
  child.stdin.on('error', () => {});
  listen(child, handlers, (sentence) => {
    fault ??= sentence;
    killGroup(child, 'SIGKILL');
  });
  return {
    ended,
    send: (line) => void (child.stdin.writable && child.stdin.write(`${line}\n`)),
    async end() {
      child.stdin.end();
      killGroup(child, 'SIGTERM');
      const late = setTimeout(() => killGroup(child, 'SIGKILL'), GRACE_MS);
      await ended;
      clearTimeout(late);
      killGroup(child, 'SIGKILL');
    },
  };
}

/** Gives its output on line by line; one that writes lines without end is given up. */
function listen(
  child: ChildProcessWithoutNullStreams,
  { onLine, onDiagnostic }: OutputHandlers,
  giveUp: (sentence: string) => void,
): void {
  let length = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    const lastEnd = chunk.lastIndexOf(10);
    length = lastEnd === -1 ? length + chunk.length : chunk.length - lastEnd - 1;
    if (length > LONGEST_LINE) giveUp(`it wrote a line longer than ${LONGEST_LINE} bytes`);
  });
  createInterface({ input: child.stdout, crlfDelay: Infinity }).on('line', onLine);
  createInterface({ input: child.stderr, crlfDelay: Infinity }).on('line', (line) =>
    onDiagnostic(line.slice(0, 2_000)),
  );
}

function keepTrack(child: ChildProcessWithoutNullStreams): void {
  if (!isWatching) {
    isWatching = true;
    process.on('exit', () => {
      for (const one of running) killGroup(one, 'SIGKILL');
    });
  }
  running.add(child);
  child.once('close', () => running.delete(child));
  child.once('error', () => child.pid === undefined && running.delete(child));
}

function killGroup({ pid }: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
  } catch {
    // gone already
  }
}
