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
/** styleText asks the lane's own stdout whether it shows colours. */
// oxlint-disable-next-line no-control-regex -- matches what colours are made of, and nothing else that steers a terminal
const COLOURS = /\u001B\[\d+m/g;

const END_LIMIT_MS = 5_000;

/** The exit code and the output of a command. */
export type Done = { code: number | null; stdout: string; stderr: string };

export type RunOptions = {
  /** What stdin holds; empty unless given. */
  input?: string;
  env?: Record<string, string>;
};

/** The command line with a home folder of its own. */
export type Cli = {
  home: string;
  /** Variables of every command; a test may change them. */
  env: Record<string, string>;
  /** Runs a command to its end in this process, which saves the second that a process takes to start. */
  run(args: readonly string[], options?: RunOptions): Promise<Done>;
  /** Runs a command with `--json` and returns the document it printed. @throws when it did not end with 0 */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read documents of every shape
  json(args: readonly string[], options?: RunOptions): Promise<any>;
  /** Starts a command in this process. `stop` ends one that waits for signals; it can't end any other. */
  start(args: readonly string[], options?: RunOptions): Running & { stop(): void };
  /** Starts a command as people do: in a process of its own, which gets signals. */
  spawn(args: readonly string[], options?: RunOptions): Running & { child: ChildProcess };
  /** Ends what still runs and removes the home folder. */
  cleanUp(): Promise<void>;
};

export type Running = {
  /** Waits for text on stdout or stderr and returns the match. @throws when the command ends without it */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  ended: Promise<Done>;
};

export function cliWith(env: Record<string, string>): Cli {
  const home = mkdtempSync(join(tmpdir(), 'baton-cli-'));
  /** Those that still run, each with the way to end it. */
  const under = new Map<Promise<unknown>, () => void>();

  const environmentOf = (more: Record<string, string> = {}) => {
    const { PATH = '' } = process.env;
    return { PATH, HOME: home, ...cli.env, ...more };
  };
  const following = (result: Done, ending: Promise<number | null>, end: () => void): Running => {
    let isOver = false;
    const ended = ending.then((code) => {
      isOver = true;
      under.delete(ended);
      return Object.assign(result, { code });
    });
    under.set(ended, end);
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
    start(args, { input = '', env: more } = {}) {
      const done: Done = { code: null, stdout: '', stderr: '' };
      const aborting = new AbortController();
      const io = {
        env: environmentOf(more),
        stdin: Readable.from([Buffer.from(input)]),
        stdout: collecting((text) => (done.stdout += text)),
        stderr: collecting((text) => (done.stderr += text)),
        exitCode: 0,
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
      // A command that reads nothing may end before it gets its input.
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
      for (const end of under.values()) end();
      // One that can't be ended fails its test by itself; the next one must not wait for it.
      await Promise.race([Promise.all(under.keys()), wait(END_LIMIT_MS, undefined, { ref: false })]);
      rmSync(home, { recursive: true, force: true });
    },
  };
  return cli;
}

function collecting(take: (text: string) => void): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, written) {
      take(String(chunk).replaceAll(COLOURS, ''));
      written();
    },
  });
}
