import { readFileSync } from 'node:fs';
import { processesAround } from './figures.ts';

/** The kinds of processes a service consists of, by their command lines. What is none of them loads or measures. */
const PARTS: readonly (readonly [string, RegExp])[] = [
  ['API', /src\/api\/server/],
  ['gateway', /src\/gateway\/server/],
  ['task worker', /workers\/task-worker/],
  ['delivery worker', /workers\/delivery-worker/],
  ['plain worker', /support\/plain-worker/],
  ['Temporal', /temporal.*start-dev/],
  ['PostgreSQL', /postgres/],
];

/** A figure for each kind of process. */
export type ByPart = Map<string, number>;

type Around = { pid: number; cpuSeconds: number };

/** What each part of the service has used: a figure per process, added up by part (Linux; empty elsewhere). */
function byPart(figure: (around: Around) => number): ByPart {
  const sums: ByPart = new Map();
  for (const around of processesAround()) {
    try {
      const words = commandLine(around.pid);
      const part = PARTS.find(([, form]) => form.test(words))?.[0];
      if (part) sums.set(part, (sums.get(part) ?? 0) + figure(around));
    } catch {
      // It has ended meanwhile, or there is no such file on this system.
    }
  }
  return sums;
}

function commandLine(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
}

/** CPU-seconds of each part so far. A process that has ended is not in it any more, nor is a PostgreSQL connection. */
export function cpuByPart(): ByPart {
  return byPart(({ cpuSeconds }) => cpuSeconds);
}

/** Megabytes of each part; proportional shares, since PostgreSQL's processes share pages. */
export function memoryByPart(): ByPart {
  return byPart(({ pid }) => kilobytes(pid, 'smaps_rollup', 'Pss') / 1_024);
}

/**
 * Resident megabytes of each part. Of PostgreSQL it is what its processes have for themselves: the buffers that they
 * share fill up to their fixed size as the tables grow.
 */
export function residentByPart(): ByPart {
  return byPart(({ pid }) => {
    const own = POSTGRES.test(commandLine(pid));
    return (own ? kilobytes(pid, 'smaps_rollup', 'Pss_Anon') : kilobytes(pid, 'status', 'VmRSS')) / 1_024;
  });
}

const POSTGRES = /postgres/;

function kilobytes(pid: number, file: string, name: string): number {
  const text = readFileSync(`/proc/${pid}/${file}`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

/** What was used between two looks, for those parts that used something. */
export function between(before: ByPart, after: ByPart): ByPart {
  const used = [...after].map(([part, value]) => [part, value - (before.get(part) ?? 0)] as const);
  return new Map(used.filter(([, value]) => value > 0));
}

export function total(parts: ByPart): number {
  return [...parts.values()].reduce((sum, value) => sum + value, 0);
}

/** The path of the file in which the dev server of Temporal keeps everything; null where there is none. */
export function temporalFile(): string | null {
  for (const { pid } of processesAround()) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const at = words.indexOf('--db-filename');
      if (at >= 0) return words[at + 1] ?? null;
    } catch {
      // It has ended meanwhile.
    }
  }
  return null;
}
