import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Transform } from 'node:stream';
import { findProgram } from './find-program.ts';
import { spawnPlanOf, type Isolation } from './isolation.ts';
import { truncate } from '../domain/common/text.ts';

/** A program of an agent: an MCP server on standard input and output, or an agent that is a command. */
export type Program = { command: string; args: readonly string[]; cwd?: string | undefined };

export type RunningProgram = {
  /** Writes one line. */
  send(line: string): void;
  /** Resolves with how the program ended, by itself or by {@link RunningProgram.end}. Never rejects. */
  readonly ended: Promise<ProgramEnd>;
  /** Closes its input and ends it with all its children: SIGTERM first, SIGKILL after {@link GRACE_MS}. */
  end(): Promise<void>;
};

export type ProgramEnd = { code: number | null; signal: NodeJS.Signals | null; fault: string | null };

type OutputHandlers = {
  onLine(line: string): void;
  /** Called for each line of standard error. */
  onDiagnostic(line: string): void;
};

/** Time between SIGTERM and SIGKILL, in milliseconds. */
const GRACE_MS = 2_000;
/** Longest accepted line, in characters. */
export const LONGEST_LINE = 4_194_304;
/** Longest line of standard error that is passed on, in characters. */
const MAX_DIAGNOSTIC = 2_000;
/** Environment variables that every program gets. */
const ALWAYS_PASSED = ['PATH', 'HOME'];

/** Running process groups. They must not outlive this process. */
const running = new Set<ChildProcessWithoutNullStreams>();
let isWatching = false;

/**
 * Returns the environment of a program: PATH, HOME and the variables in its settings.
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

/**
 * Starts a program as the leader of its own process group, so that it can be ended with all its children. `isolation`
 * keeps it from the secrets of this process.
 */
export function startProgram(
  program: Program,
  env: Record<string, string>,
  handlers: OutputHandlers,
  isolation: Isolation,
): RunningProgram {
  const plan = spawnPlanOf(program, env, isolation);
  const child = spawn(plan.command, plan.args, {
    env: plan.env,
    ...plan.owner,
    ...(program.cwd === undefined ? {} : { cwd: program.cwd }),
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  trackChild(child);
  // Otherwise the system reports it.
  const isMissing =
    plan.command !== program.command && !findProgram(program.command, env['PATH'] ?? '', program.cwd);
  let fault = isMissing ? notFound(program) : null;
  const ended = new Promise<ProgramEnd>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      fault ??=
        error.code === 'ENOENT'
          ? notFound(program)
          : `cannot start (${error.code})${isolation.kind === 'user' ? ` as user ${isolation.uid}` : ''}`;
      if (child.pid === undefined) resolve({ code: null, signal: null, fault });
    });
    child.once('close', (code, signal) => resolve({ code, signal, fault }));
    // Its children may keep its output open. It counts as ended anyway.
    child.once('exit', () => setTimeout(() => killGroup(child, 'SIGKILL'), 100).unref());
  });
  // Writing to an ended program fails; `ended` reports its end.
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

function notFound({ command }: Program): string {
  return `program not found: ${command}`;
}

/** Passes its output on line by line. Gives up on a program whose line is too long. */
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
  const beginnings = child.stderr.setEncoding('utf8').pipe(createLineCutter(MAX_DIAGNOSTIC));
  createInterface({ input: beginnings, crlfDelay: Infinity }).on('line', (line) =>
    onDiagnostic(truncate(line, MAX_DIAGNOSTIC)),
  );
}

/** Creates a stream that passes at most `longest` characters of each line, so that a long line takes no memory. */
function createLineCutter(longest: number): Transform {
  let room = longest;
  return new Transform({
    decodeStrings: false,
    transform(chunk: string, _encoding, done) {
      // Every second part is the end of a line. A carriage return also ends a line, since programs use it to draw
      // progress.
      const parts = chunk.split(/([\r\n])/).map((part, index) => {
        if (index % 2 === 1) {
          room = longest;
          return part;
        }
        const passed = part.slice(0, room);
        room -= passed.length;
        return passed;
      });
      done(null, parts.join(''));
    },
  });
}

function trackChild(child: ChildProcessWithoutNullStreams): void {
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
