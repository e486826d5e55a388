import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { startPostgres, type RunningPostgres } from '../../dev/services/postgres.ts';
import { startTemporal, type RunningTemporal } from '../../dev/services/temporal.ts';
import { eventually } from './eventually.ts';

type Running = { pid: number; ended: Promise<unknown>; stop(): Promise<unknown> };

/** A process of the service, which can be killed and started again. */
export type Part = {
  pid(): number;
  /** Sends SIGKILL to it and its children. Resolves when all have exited. */
  kill(): Promise<void>;
  /** Sends SIGSTOP to it and its children. Their connections and files stay open. */
  freeze(): void;
  /** Sends SIGCONT to all frozen processes. */
  thaw(): void;
  /** Starts it on the same port and data. Resolves when it is ready. */
  start(): Promise<void>;
  /** Stops it in order, if it is running. */
  stop(): Promise<void>;
  /** False once it has exited. */
  isRunning(): boolean;
};

/** Creates a part that `launch` starts. Its argument is the previous process. */
export function createPart<T extends Running>(
  launch: (previous: T | null) => Promise<T>,
): Part & { running(): T } {
  let known: T | null = null;
  let isRunning = false;
  let frozen: number[] = [];
  const running = () => {
    if (known === null) throw new Error('a part that was never started');
    return known;
  };
  return {
    running,
    pid: () => running().pid,
    isRunning: () => isRunning,
    async start() {
      const fresh = await launch(known);
      known = fresh;
      isRunning = true;
      void fresh.ended.then(() => {
        if (known === fresh) isRunning = false;
      });
    },
    async kill() {
      const { pid, ended } = running();
      const children = childrenOf(pid);
      for (const child of [pid, ...children]) signal(child, 'SIGKILL');
      await ended;
      await eventually('its children are gone', () => children.every(isGone));
      isRunning = false;
    },
    freeze() {
      const { pid } = running();
      // The parent first, so that it starts no further children.
      signal(pid, 'SIGSTOP');
      frozen = [pid, ...childrenOf(pid)];
      for (const child of frozen) signal(child, 'SIGSTOP');
    },
    thaw() {
      for (const child of frozen) signal(child, 'SIGCONT');
      frozen = [];
    },
    async stop() {
      if (isRunning) await running().stop();
    },
  };
}

/** Returns the child processes. PostgreSQL's connections are children, which would finish their work. */
export function childrenOf(pid: number): number[] {
  const listed = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' });
  return listed.stdout
    .split('\n')
    .map(Number)
    .filter((child) => child > 0);
}

/** Returns whether a process has ended. A zombie holds nothing any more. */
function isGone(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.trim() === '' || stdout.trim().startsWith('Z');
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // A connection's process can have ended since it was listed.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Returns a function that starts PostgreSQL in a folder, and again on the same port. */
export function postgresIn(folder: string, password: string, logFile = join(folder, 'postgres.log')) {
  return (previous: RunningPostgres | null) =>
    startPostgres({
      dataDir: join(folder, 'postgres'),
      logFile,
      password,
      maxConnections: 300,
      ...(previous === null ? {} : { port: previous.port, samePort: true }),
    });
}

/** Returns a function that starts Temporal in a folder, and again on the same ports. */
export function temporalIn(folder: string, logFile = join(folder, 'temporal.log')) {
  return (previous: RunningTemporal | null) =>
    startTemporal({
      dbFile: join(folder, 'temporal.db'),
      logFile,
      ...(previous === null ? {} : { port: previous.port, uiPort: previous.uiPort, samePorts: true }),
    });
}
