import { spawn, spawnSync, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';

/** How a process ended: its exit code, or the signal that ended it. */
export type Ending = { code: number | null; signal: NodeJS.Signals | null };

/** The user that a process runs as. Default: the user of the launcher. */
export type RunAs = { uid: number; gid: number };

export type ProcessPlan = {
  command: string;
  args: string[];
  /** Standard output and standard error are appended to this file. */
  logFile: string;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  as?: RunAs | undefined;
  /** The signal that shuts this process down. It also gets the signal if the launcher dies. */
  endsBy?: 'SIGTERM' | 'SIGINT';
  /** Whether the process has a channel for `process.send`. */
  ipc?: boolean;
};

export type RunningProcess = {
  child: ChildProcess;
  pid: number;
  ended: Promise<Ending>;
  /** Sends its signal, and SIGKILL if it has not ended after `graceMs`. */
  stop(graceMs?: number): Promise<Ending>;
  /** Kills it, like a crash. */
  kill(): Promise<Ending>;
};

let lifeline: string[] | null = null;

/**
 * Returns words to put before a command, so that it ends with its parent even if the parent is killed. Only Linux
 * supports this, through util-linux. On other systems, the next start ends what was left.
 */
function endingWithParent(signal: string): string[] {
  if (lifeline === null) {
    const probe = spawnSync('setpriv', ['--pdeathsig', 'TERM', '--', 'true'], { stdio: 'ignore' });
    lifeline = probe.status === 0 ? ['setpriv', '--pdeathsig'] : [];
  }
  return lifeline.length === 0 ? [] : [...lifeline, signal.replace('SIG', ''), '--'];
}

/** Starts a process whose output goes to a log file. @throws if it cannot be started */
export async function startProcess(plan: ProcessPlan): Promise<RunningProcess> {
  const endsBy = plan.endsBy ?? 'SIGTERM';
  const [command = plan.command, ...args] = [...endingWithParent(endsBy), plan.command, ...plan.args];
  const log = openSync(plan.logFile, 'a', 0o600);
  // In a separate process group, because Ctrl-C in the terminal must reach only the launcher, which stops everything in
  // order.
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
  child.on('error', () => {}); // signals to a process that has ended
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

/** Returns whether a process with this id exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Returns the command line of a process; null if there is none with this id, or it is a zombie. */
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
 * Ends a process that an earlier launcher has left behind. Does nothing unless its command line contains `mark`, since
 * process ids are soon reused. Returns whether it was running. @throws Error if it survives SIGKILL for 5 s
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

/** Returns the last lines of a log file, for error messages. */
export function tailOf(logFile: string, lines = 12): string {
  try {
    return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '';
  }
}

/** Describes how a process ended. */
export function describeEnding(ending: Ending): string {
  return ending.signal === null ? `with exit code ${ending.code}` : `by ${ending.signal}`;
}
