import { spawn, spawnSync, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';

/** How a process ended: its exit code, or the signal that ended it. */
export type Ending = { code: number | null; signal: NodeJS.Signals | null };

/** The user that a process runs as; absent: the launcher's own. */
export type RunAs = { uid: number; gid: number };

export type ProcessPlan = {
  command: string;
  args: string[];
  /** Output of both kinds is appended to this file. */
  logFile: string;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  as?: RunAs | undefined;
  /** The signal by which this process ends in good order, also when the launcher dies. */
  endsBy?: 'SIGTERM' | 'SIGINT';
  /** With a channel for `process.send`. */
  ipc?: boolean;
};

export type RunningProcess = {
  child: ChildProcess;
  pid: number;
  ended: Promise<Ending>;
  /** Ends it by its signal; after `graceMs` without effect by SIGKILL. */
  stop(graceMs?: number): Promise<Ending>;
  /** Ends it at once, as a crash would. */
  kill(): Promise<Ending>;
};

let lifeline: string[] | null = null;

/**
 * Words to put before a command so that it ends with its parent, even when that one is killed outright. Only
 * Linux knows how, through util-linux; elsewhere the next start finds and ends what was left.
 */
function endingWithParent(signal: string): string[] {
  if (lifeline === null) {
    const probe = spawnSync('setpriv', ['--pdeathsig', 'TERM', '--', 'true'], { stdio: 'ignore' });
    lifeline = probe.status === 0 ? ['setpriv', '--pdeathsig'] : [];
  }
  return lifeline.length === 0 ? [] : [...lifeline, signal.replace('SIG', ''), '--'];
}

/** Starts a process whose output goes to a log file. @throws when it can't be started at all */
export async function startProcess(plan: ProcessPlan): Promise<RunningProcess> {
  const endsBy = plan.endsBy ?? 'SIGTERM';
  const [command = plan.command, ...args] = [...endingWithParent(endsBy), plan.command, ...plan.args];
  const log = openSync(plan.logFile, 'a', 0o600);
  // A group of its own: Ctrl-C in the terminal must reach the launcher alone, which then stops all in order.
  const options: SpawnOptions = {
    stdio: plan.ipc ? ['ignore', log, log, 'ipc'] : ['ignore', log, log],
    env: plan.env ?? process.env,
    detached: true,
    ...(plan.cwd === undefined ? {} : { cwd: plan.cwd }),
    ...plan.as,
  };
  const child = spawn(command, args, options);
  closeSync(log);
  const ended = new Promise<Ending>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  child.on('error', () => {}); // a signal to a process that is gone
  return asRunning(child, ended, endsBy);
}

function asRunning(child: ChildProcess, ended: Promise<Ending>, endsBy: NodeJS.Signals): RunningProcess {
  if (child.pid === undefined) throw new Error('a process without a process id');
  return {
    child,
    pid: child.pid,
    ended,
    async stop(graceMs = 15_000) {
      child.kill(endsBy);
      const last = setTimeout(() => child.kill('SIGKILL'), graceMs);
      return await ended.finally(() => clearTimeout(last));
    },
    kill() {
      child.kill('SIGKILL');
      return ended;
    },
  };
}

/** Whether a process with this id exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The command line of a process, or null when there is none with this id (or it is a zombie). */
export function commandLine(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || null;
  } catch {
    if (process.platform === 'linux') return null;
  }
  const shown = spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });
  return shown.stdout?.trim() || null;
}

/**
 * Ends a process that an earlier launcher left behind, but only when its command line holds `mark`: a process
 * id is soon reused. Returns whether there was one. @throws if it survives SIGKILL for 5 s
 */
export async function endLeftover(
  pid: number,
  mark: string,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<boolean> {
  const isOurs = () => commandLine(pid)?.includes(mark) === true;
  if (!Number.isInteger(pid) || pid <= 1 || !isOurs()) return false;
  for (const [by, limitMs] of [
    [signal, 10_000],
    ['SIGKILL', 5_000],
  ] as const) {
    try {
      process.kill(pid, by);
    } catch {
      return true;
    }
    const limit = Date.now() + limitMs;
    while (Date.now() < limit) {
      if (!isOurs()) return true;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error(`process ${pid} (${mark}) is left over from an earlier start and cannot be stopped`);
}

/** The last lines of a log file, for the sentence that reports an unexpected end. */
export function tailOf(logFile: string, lines = 12): string {
  try {
    return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '';
  }
}

/** An ending in words. */
export function inWords(ending: Ending): string {
  return ending.signal === null ? `with exit code ${ending.code}` : `by ${ending.signal}`;
}
