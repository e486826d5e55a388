import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ENTRY = fileURLToPath(new URL('../../cli/baton.mjs', import.meta.url));

/** What a command left behind. */
export type Done = { code: number | null; stdout: string; stderr: string };

/** The command line as a person runs it, in a home folder of its own. */
export type Cli = {
  home: string;
  /** Variables of every command; a test may change them. */
  env: Record<string, string>;
  run(args: readonly string[], options?: { input?: string; env?: Record<string, string> }): Promise<Done>;
  /** The same with `--json`, and the document it printed. Throws where it did not end with 0. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read documents of every shape
  json(args: readonly string[], options?: { input?: string }): Promise<any>;
  /** Starts one that goes on. */
  start(args: readonly string[]): Running;
  cleanUp(): void;
};

export type Running = {
  child: ChildProcess;
  /** Waits for text on stdout or stderr and gives the match. */
  says(pattern: RegExp, withinMs?: number): Promise<RegExpExecArray>;
  ended: Promise<Done>;
};

export function cliWith(env: Record<string, string>): Cli {
  const home = mkdtempSync(join(tmpdir(), 'baton-cli-'));
  const children = new Set<ChildProcess>();

  const start = (args: readonly string[], more: Record<string, string> = {}): Running => {
    const { PATH = '' } = process.env;
    const child = spawn(process.execPath, [ENTRY, ...args], {
      env: { PATH, HOME: home, ...cli.env, ...more },
    });
    children.add(child);
    const done: Done = { code: null, stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text) => (done.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (done.stderr += text));
    const ended = once(child, 'close').then(([code]) => {
      children.delete(child);
      return { ...done, code };
    });
    const says = async (pattern: RegExp, withinMs = 10_000): Promise<RegExpExecArray> => {
      const signal = AbortSignal.timeout(withinMs);
      for (;;) {
        const match = pattern.exec(done.stdout) ?? pattern.exec(done.stderr);
        if (match !== null) return match;
        const heard = new AbortController();
        const either = AbortSignal.any([signal, heard.signal]);
        const news = [child.stdout, child.stderr, child].map((source) =>
          once(source, source === child ? 'close' : 'data', { signal: either }),
        );
        await Promise.race(news).catch(() => {});
        for (const one of news) one.catch(() => {});
        heard.abort();
        if (signal.aborted) throw new Error(`not said: ${pattern}\n${done.stdout}${done.stderr}`);
      }
    };
    return { child, says, ended };
  };

  const cli: Cli = {
    home,
    env,
    start,
    async run(args, { input, env: more } = {}) {
      const { child, ended } = start(args, more);
      child.stdin?.end(input ?? '');
      return await ended;
    },
    async json(args, options) {
      const { code, stdout, stderr } = await cli.run([...args, '--json'], options);
      if (code !== 0) throw new Error(`baton ${args.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout);
    },
    cleanUp() {
      for (const child of children) child.kill('SIGKILL');
      rmSync(home, { recursive: true, force: true });
    },
  };
  return cli;
}
