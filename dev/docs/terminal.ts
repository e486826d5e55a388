import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The folder for temporary files, the folder of the commands, and the environment. */
export type Place = { scratch: string; cwd: string; environment: NodeJS.ProcessEnv };

/** The result of a block of commands. `exit` is null if it was still running at the limit. */
export type Outcome = { exit: number | null; output: string };

/** Commands that run in the background of the page. */
export type Background = { output(): string; isRunning(): boolean; stop(): Promise<void> };

export type Terminal = {
  /**
   * Runs commands in the shell of the page, so variables persist. `strict`: the first command that fails ends the
   * block.
   */
  run(text: string, limitMs: number, strict: boolean): Promise<Outcome>;
  /** Starts commands in a separate shell, which begins with the variables of this one. */
  inBackground(text: string): Promise<Background>;
  close(): Promise<void>;
};

/** Makes curl fail for an HTTP error. Otherwise a rejected request would count as successful. */
const PRELUDE = 'set -m; curl() { command curl --fail-with-body "$@"; }\n';

/** Opens one bash for a whole page. */
export function openTerminal({ scratch, cwd, environment }: Place): Terminal {
  const shell = spawn('bash', ['--noprofile', '--norc'], {
    cwd,
    env: environment,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
  });
  const typed = shell.stdin as NodeJS.WritableStream;
  typed.on('error', () => {}); // errors after a command has ended the shell
  const results = createInterface({ input: shell.stdio[3] as NodeJS.ReadableStream });
  const ended = once(shell, 'exit');
  const others: Background[] = [];
  let blocks = 0;
  typed.write(PRELUDE);

  const written = (text: string) => {
    blocks += 1;
    const script = join(scratch, `block-${blocks}.sh`);
    const log = join(scratch, `block-${blocks}.log`);
    writeFileSync(script, `${text}\n`);
    writeFileSync(log, '');
    return { script, log };
  };
  /** Returns the next line on the side channel of the shell; null if it has ended, or wrote nothing in time. */
  const answer = async (limitMs: number): Promise<string | null> => {
    const quiet = AbortSignal.timeout(limitMs);
    const line = once(results, 'line', { signal: quiet }).then(
      ([text]) => String(text),
      () => null,
    );
    return await Promise.race([line, ended.then(() => null)]);
  };

  return {
    async run(text, limitMs, strict) {
      const { script, log } = written(text);
      const flags = strict ? 'set -eu -o pipefail' : 'set +eu +o pipefail';
      typed.write(`${flags}; source '${script}' >'${log}' 2>&1 </dev/null; echo "$?" >&3; set +eu\n`);
      const exitStatus = await answer(limitMs);
      const output = readFileSync(log, 'utf8');
      return { exit: exitStatus === null ? shell.exitCode : Number(exitStatus), output };
    },
    async inBackground(text) {
      const { script, log } = written(text);
      typed.write(`( source '${script}' ) >'${log}' 2>&1 </dev/null & echo "$!" >&3\n`);
      const pid = Number(await answer(10_000));
      const other: Background = {
        output: () => readFileSync(log, 'utf8'),
        isRunning: () => lives(pid),
        async stop() {
          // In a terminal, Ctrl-C reaches the whole process group of a command.
          for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
            signalGroup(pid, signal);
            for (let waited = 0; waited < 200 && lives(pid); waited += 1) await pause(100);
          }
        },
      };
      others.push(other);
      return other;
    },
    async close() {
      for (const other of others) if (other.isRunning()) await other.stop();
      typed.end();
      signalGroup(Number(shell.pid), 'SIGKILL');
      await ended;
    },
  };
}

function lives(pid: number): boolean {
  return signalGroup(pid, 0);
}

/** Returns false if there is no such group. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch {
    return false;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
