import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { spawnPlanOf, type Isolation } from '../agents/isolation.ts';
import { SECRET_VARIABLES } from './configuration.ts';

/** The processes of this machine that a program of an agent could read. */
export type Exposure = {
  /** Whether it could read the environment of this process, and so perhaps its memory. */
  own: boolean;
  /** Other processes whose environment it could read, with secrets of this service in it. */
  others: number[];
  /** Whether it can write to the HOME of this process. */
  hasHome: boolean;
};

/**
 * Prints a line for each process whose environment it can open: its `stat`, which identifies the process also outside of
 * a process namespace. Then `home` if it can write to HOME. It ends with its input.
 */
const PROBE = `
for process in /proc/[0-9]*; do
  if { true <"$process/environ"; } 2>/dev/null; then
    { read -r line <"$process/stat" && echo "$line"; } 2>/dev/null
  fi
done
if [ -n "$HOME" ] && [ -w "$HOME" ] && [ -x "$HOME" ]; then echo home; fi
echo end
read -r line
`;
/** Long, because a late answer means that programs cannot be started so. */
const LIMIT_MS = 60_000;
/** Secrets of the command line, and headers of requests to Temporal. */
const OTHER_SECRETS = ['BATON_API_KEY', 'BATON_WEBHOOK_SECRET', 'TEMPORAL_GRPC_META_[^=\\0]+'];
/** Opening an environment requires the same permission as reading the memory, or a weaker one (ptrace(2)). */
const NAMED = new RegExp(`(?:^|\\0)(?:${[...SECRET_VARIABLES, ...OTHER_SECRETS].join('|')})=[^\\0]`);

/** Starts a program in isolation and returns what it can read; null if programs cannot be started and ended so. */
export async function probePrograms(isolation: Isolation): Promise<Exposure | null> {
  const child = startProbe(isolation);
  if (child === null) return null;
  const output = await outputOf(child);
  const isUsable = output !== null && maySignal(child.pid);
  child.stdin.end();
  child.kill('SIGKILL');
  if (!isUsable) return null;
  const lines = output.split('\n');
  const pids = lines.flatMap((line) => {
    const found = processOf(line);
    // In a process namespace, the same number is another process.
    return found && found.pid !== child.pid && processOf(statOf(found.pid))?.started === found.started
      ? [found.pid]
      : [];
  });
  return {
    own: pids.includes(process.pid),
    others: pids.filter((pid) => pid !== process.pid && hasSecrets(pid)),
    hasHome: lines.includes('home'),
  };
}

function startProbe(isolation: Isolation): ChildProcessByStdio<Writable, Readable, null> | null {
  const { PATH = '', HOME = '' } = process.env;
  const shell = { command: '/bin/sh', args: ['-c', PROBE] };
  const { command, args, env, owner } = spawnPlanOf(shell, { PATH, HOME }, isolation);
  try {
    return spawn(command, args, { env, ...owner, cwd: '/', stdio: ['pipe', 'pipe', 'ignore'] });
  } catch {
    // This process may not switch the user.
    return null;
  }
}

/** Returns everything that it printed; null if it ended early or is late. */
async function outputOf(child: ChildProcessByStdio<Writable, Readable, null>): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const late = setTimeout(() => resolve(null), LIMIT_MS);
  child.on('error', () => resolve(null));
  child.on('close', () => resolve(null));
  child.stdin.on('error', () => {});
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (/^end$/m.test(output)) resolve(output);
  });
  return await promise.finally(() => clearTimeout(late));
}

/** A privileged process may start programs as another user without permission to end them. */
function maySignal(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Returns the id and the start time, in clock ticks since boot, from the text of `/proc/<pid>/stat`. */
function processOf(stat: string): { pid: number; started: string } | null {
  const [, pid, rest] = /^(\d+) \(.*\) (.*)$/.exec(stat.trimEnd()) ?? [];
  const started = rest?.split(' ')[19];
  return pid === undefined || started === undefined ? null : { pid: Number(pid), started };
}

function statOf(pid: number): string {
  return textOf(`/proc/${pid}/stat`);
}

function hasSecrets(pid: number): boolean {
  return NAMED.test(textOf(`/proc/${pid}/environ`));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
