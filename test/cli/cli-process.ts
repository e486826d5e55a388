import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { run } from '../../cli/run.ts';
import { eventually } from '../support/eventually.ts';

const ENTRY = fileURLToPath(new URL('../../cli/baton.mjs', import.meta.url));
/** styleText decides by the stdout of the lane whether it adds colours. */
// oxlint-disable-next-line no-control-regex -- matches only the control sequences of colours
const COLOURS = /\u001B\[\d+m/g;

const END_LIMIT_MS = 5_000;

/** The exit code and the output of a command. */
export type Done = { code: number | null; stdout: string; stderr: string };

export type RunOptions = {
  /** The content of stdin; empty by default. */
  input?: string;
  /** True: stdin is a terminal, so that commands ask. Only for commands in this process. */
  terminal?: boolean;
  env?: Record<string, string>;
};

/** The command line with its own home folder. */
export type Cli = {
  home: string;
  /** Variables of every command; a test may change them. */
  env: Record<string, string>;
  /** Runs a command in this process, which saves the second that a new process takes, and waits for its end. */
  run(args: readonly string[], options?: RunOptions): Promise<Done>;
  /** Runs a command with `--json`. Returns the printed document. @throws if the exit code is not 0 */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read documents of every shape
  json(args: readonly string[], options?: RunOptions): Promise<any>;
  /** Starts a command in this process. `stop` ends a command that waits for signals, but no other. */
  start(args: readonly string[], options?: RunOptions): Running & { stop(): void };
  /** Starts a command in its own process, as users do. It receives signals. */
  spawn(args: readonly string[], options?: RunOptions): Running & { child: ChildProcess };
  /** Ends running commands and removes the home folder. */
  cleanUp(): Promise<void>;
};

export type Running = {
  /** Waits for text on stdout or stderr. Returns the match. @throws if the command ends without it */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  ended: Promise<Done>;
};

export function cliWith(env: Record<string, string>): Cli {
  const home = mkdtempSync(join(tmpdir(), 'baton-cli-'));
  /** Running commands, each with the function that ends it. */
  const running = new Map<Promise<unknown>, () => void>();

  const environmentOf = (more: Record<string, string> = {}) => {
    const { PATH = '' } = process.env;
    return { PATH, HOME: home, ...cli.env, ...more };
  };
  const following = (result: Done, ending: Promise<number | null>, end: () => void): Running => {
    let isOver = false;
    const ended = ending.then((code) => {
      isOver = true;
      running.delete(ended);
      return Object.assign(result, { code });
    });
    running.set(ended, end);
    const says = (pattern: RegExp) =>
      eventually(`${pattern} is printed`, () => {
        const wasOver = isOver;
        const match = pattern.exec(result.stdout) ?? pattern.exec(result.stderr);
        if (match === null && wasOver)
          throw new Error(`ended without ${pattern}:\n${result.stdout}${result.stderr}`);
        return match;
      });
    return { says, ended };
  };

  const cli: Cli = {
    home,
    env,
    start(args, { input = '', terminal = false, env: more } = {}) {
      const done: Done = { code: null, stdout: '', stderr: '' };
      const aborting = new AbortController();
      const io = {
        env: environmentOf(more),
        stdin: Object.assign(Readable.from([Buffer.from(input)]), { isTTY: terminal }),
        stdout: collecting((text) => (done.stdout += text)),
        stderr: collecting((text) => (done.stderr += text)),
        exitCode: 0,
        unread: new AbortController().signal,
        abortedBy: () => aborting.signal,
      };
      const stop = () => aborting.abort();
      return { ...following(done, run(args, io), stop), stop };
    },
    spawn(args, { input = '', env: more } = {}) {
      const done: Done = { code: null, stdout: '', stderr: '' };
      const child = spawn(process.execPath, [ENTRY, ...args], { env: environmentOf(more) });
      child.stdout.setEncoding('utf8').on('data', (text) => (done.stdout += text));
      child.stderr.setEncoding('utf8').on('data', (text) => (done.stderr += text));
      // A command that does not read stdin can end before it gets its input.
      child.stdin.on('error', () => {}).end(input);
      const ending = once(child, 'close').then(([code]) => code as number | null);
      return { ...following(done, ending, () => child.kill('SIGKILL')), child };
    },
    run: (args, options) => cli.start(args, options).ended,
    async json(args, options) {
      const { code, stdout, stderr } = await cli.run([...args, '--json'], options);
      if (code !== 0) throw new Error(`baton ${args.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout);
    },
    async cleanUp() {
      for (const end of running.values()) end();
      // A command that does not end fails its own test. The next test must not wait for it.
      await Promise.race([Promise.all(running.keys()), wait(END_LIMIT_MS, undefined, { ref: false })]);
      rmSync(home, { recursive: true, force: true });
    },
  };
  return cli;
}

function collecting(append: (text: string) => void): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, written) {
      append(String(chunk).replaceAll(COLOURS, ''));
      written();
    },
  });
}
