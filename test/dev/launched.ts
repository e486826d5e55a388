import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { commandLine } from '../../dev/common/processes.ts';
import { checkout } from '../../dev/common/paths.ts';
import type { Credentials } from '../../dev/launcher/credentials.ts';
import { eventually } from '../support/eventually.ts';

/** A start may build the screens first, on a loaded machine. */
const START_LIMIT_MS = 120_000;
const STOP_LIMIT_MS = 30_000;
const LEFT_OUT = /^(node_modules|\.local|\.git)(\/|$)/;

/** Registers hooks that give a `describe` a new checkout, and stop what a test has started in it. */
export function useCheckout(): { folder: string } {
  const used = { folder: '', remove: () => {} };
  before(() => void Object.assign(used, freshCheckout()));
  afterEach(endLaunched);
  after(() => used.remove());
  return used;
}

/** A separate checkout with the same files and dependencies, without anything that a start creates. */
export function freshCheckout(): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'baton-checkout-'));
  chmodSync(folder, 0o755); // accessible to the user that PostgreSQL runs as
  cpSync(checkout, folder, {
    recursive: true,
    filter: (path) => !LEFT_OUT.test(relative(checkout, path)),
  });
  symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'));
  return {
    folder,
    remove() {
      // An aborted test leaves nothing behind: the launcher's children end with it.
      const launcher = join(folder, '.local', 'launcher.pid');
      const pid = existsSync(launcher) ? Number(readFileSync(launcher, 'utf8')) : 0;
      if (pid > 0 && commandLine(pid)?.includes(folder)) process.kill(pid, 'SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A launcher in a separate process group, as in a terminal. */
export type Launched = {
  child: ChildProcess;
  output(): string;
  /** Resolves when the output contains the text. @throws with the output if the launcher exits before */
  says(words: string | RegExp): Promise<void>;
  /** Resolves when all is ready. */
  credentials(): Promise<Credentials>;
  ended: Promise<number | null>;
};

const running = new Set<Launched>();

export function npmStart(folder: string, environment: NodeJS.ProcessEnv, words: string[] = []): Launched {
  return launch(['npm', 'start', '--', ...words], { folder, data: '.local' }, environment);
}

/** Starts a command whose service has its data in the folder `data`. */
export function launch(
  [program = '', ...words]: string[],
  { folder, data }: { folder: string; data: string },
  environment: NodeJS.ProcessEnv,
): Launched {
  const child = spawn(program, words, {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, DATABASE_URL: '', TEMPORAL_ADDRESS: '', ...environment },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const until = async (holds: () => boolean, what: string) => {
    const probe = () => {
      const hasEnded = child.exitCode !== null || child.signalCode !== null;
      if (!holds() && hasEnded) throw new Error(`${program} has ended without ${what}`);
      return holds();
    };
    await eventually(what, probe, START_LIMIT_MS).catch((error: Error) => {
      throw new Error(`${error.message}\n${output}`);
    });
  };
  const file = join(folder, data, 'credentials.json');
  const launched: Launched = {
    child,
    output: () => output,
    says: (sought) => until(() => output.search(sought) >= 0, String(sought)),
    async credentials() {
      await until(() => existsSync(file), 'credentials.json');
      return JSON.parse(readFileSync(file, 'utf8')) as Credentials;
    },
    ended: new Promise((resolve) =>
      child.once('close', (code) => {
        running.delete(launched);
        resolve(code);
      }),
    ),
  };
  running.add(launched);
  return launched;
}

/** Sends SIGINT to the command and its launcher, as Ctrl-C in a terminal does, and waits for the end. */
export async function pressCtrlC({ child, ended }: Launched): Promise<void> {
  process.kill(-Number(child.pid), 'SIGINT');
  await ended;
}

/** Stops what {@link launch} has started, also after a failed test. */
export async function endLaunched(): Promise<void> {
  for (const launched of running) {
    await Promise.race([pressCtrlC(launched), wait(STOP_LIMIT_MS, undefined, { ref: false })]);
    // The launcher's children end with it.
    if (running.has(launched)) process.kill(-Number(launched.child.pid), 'SIGKILL');
  }
}

/** Returns the command lines of all processes that use a folder. */
export function processesOf(folder: string): string[] {
  return commandLines().filter((line) => line.includes(folder));
}

/** On Linux from /proc, because minimal machines have no `ps`. */
function commandLines(): string[] {
  if (process.platform !== 'linux') {
    return spawnSync('ps', ['-eo', 'args='], { encoding: 'utf8' }).stdout.split('\n');
  }
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => commandLine(Number(pid)) ?? []);
}
