import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Transform } from 'node:stream';
import { describeMissing, findProgram } from './find-program.ts';
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
  /** Called for the beginning of each line of standard error, cut at {@link LONGEST_DIAGNOSTIC} characters. */
  onDiagnostic(line: string): void;
};

/** Time between SIGTERM and SIGKILL, in milliseconds. */
const GRACE_MS = 2_000;
/** Time after the exit of a program in which its last output is read, in milliseconds. */
const LAST_OUTPUT_MS = 1_000;
/** Longest accepted line, in bytes. */
export const LONGEST_LINE = 4_194_304;
const LINE_FEED = 10;
/** Longest line of standard error that is passed on, in characters. */
export const LONGEST_DIAGNOSTIC = 2_000;
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
  const faultOf = ({ code }: NodeJS.ErrnoException) =>
    code === 'ENOENT' || code === 'ENOTDIR'
      ? describeMissing(program)
      : `cannot start (${code})${isolation.kind === 'user' ? ` as user ${isolation.uid}` : ''}`;
  let child: ChildProcessWithoutNullStreams;
  try {
    child = spawn(plan.command, plan.args, {
      env: plan.env,
      ...plan.owner,
      ...(program.cwd === undefined ? {} : { cwd: program.cwd }),
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  } catch (error) {
    // Node throws what it does not report as an event, for example E2BIG for arguments that are too long.
    return notStarted(faultOf(error as NodeJS.ErrnoException));
  }
  trackChild(child);
  // Otherwise the system reports it.
  const isMissing =
    plan.command !== program.command && !findProgram(program.command, env['PATH'] ?? '', program.cwd);
  let fault = isMissing ? describeMissing(program) : null;
  const ended = new Promise<ProgramEnd>((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      fault ??= faultOf(error);
      if (child.pid === undefined) resolve({ code: null, signal: null, fault });
    });
    child.once('close', (code, signal) => resolve({ code, signal, fault }));
    // Its children may keep its output open, also those that have left its group. It counts as ended anyway.
    child.once('exit', () => {
      setTimeout(() => killGroup(child, 'SIGKILL'), 100).unref();
      setTimeout(() => closeOutput(child), LAST_OUTPUT_MS).unref();
    });
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

/** Returns a program that has ended before it began. */
function notStarted(fault: string): RunningProgram {
  const ended = Promise.resolve({ code: null, signal: null, fault });
  return { ended, send: () => {}, end: async () => {} };
}

function closeOutput({ stdout, stderr }: ChildProcessWithoutNullStreams): void {
  stdout.destroy();
  stderr.destroy();
}

/** Passes its output on line by line. Gives up on a program whose line is too long. */
function listen(
  child: ChildProcessWithoutNullStreams,
  { onLine, onDiagnostic }: OutputHandlers,
  giveUp: (sentence: string) => void,
): void {
  const output = createLineReader(onLine, () => giveUp(`it wrote a line longer than ${LONGEST_LINE} bytes`));
  child.stdout.on('data', output.add).once('end', output.end).once('close', output.end);
  const beginnings = child.stderr.setEncoding('utf8').pipe(createLineCutter(LONGEST_DIAGNOSTIC));
  createInterface({ input: beginnings, crlfDelay: Infinity }).on('line', onDiagnostic);
}

/**
 * Splits the output of a program at line feeds only. Node's `readline` also splits at U+2028 and U+2029, which JSON may
 * contain unescaped.
 */
function createLineReader(onLine: (line: string) => void, onTooLong: () => void) {
  /** The first `length` bytes are the beginning of a line. */
  let begun = Buffer.alloc(0);
  let length = 0;
  let isOver = false;
  const keep = (bytes: Buffer) => {
    if (length + bytes.length > begun.length) {
      const longer = Buffer.allocUnsafe(Math.max(2 * begun.length, length + bytes.length));
      begun.copy(longer, 0, 0, length);
      begun = longer;
    }
    length += bytes.copy(begun, length);
  };
  const pass = () => {
    const line = begun.toString('utf8', 0, length);
    begun = Buffer.alloc(0);
    length = 0;
    onLine(line);
  };
  return {
    add(chunk: Buffer): void {
      let start = 0;
      for (let end = chunk.indexOf(LINE_FEED); end !== -1 && !isOver; end = chunk.indexOf(LINE_FEED, start)) {
        if (length === 0) onLine(chunk.toString('utf8', start, end));
        else {
          keep(chunk.subarray(start, end));
          pass();
        }
        start = end + 1;
      }
      if (isOver) return;
      keep(chunk.subarray(start));
      if (length <= LONGEST_LINE) return;
      isOver = true;
      begun = Buffer.alloc(0);
      length = 0;
      onTooLong();
    },
    /** Passes the last line on if it has no line feed. */
    end(): void {
      if (length > 0) pass();
    },
  };
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
        const passed = truncate(part, room);
        room = passed.length < part.length ? 0 : room - passed.length;
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
