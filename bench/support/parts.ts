import { readFileSync } from 'node:fs';
import { listSiblingProcesses } from './measure.ts';

/** The kinds of processes of the service, by their command lines. Other processes generate load or measure. */
const PARTS: readonly (readonly [string, RegExp])[] = [
  ['API', /src\/api\/server/],
  ['gateway', /src\/gateway\/server/],
  ['task worker', /workers\/task-worker/],
  ['delivery worker', /workers\/delivery-worker/],
  ['plain worker', /support\/plain-worker/],
  ['Temporal', /temporal.*start-dev/],
  ['PostgreSQL', /postgres/],
];

/** A value for each kind of process. */
export type ByPart = Map<string, number>;

type SiblingProcess = { pid: number; cpuSeconds: number };

/** Measures each process and adds up the values by part. Empty except on Linux. */
function byPart(measure: (process: SiblingProcess) => number): ByPart {
  const sums: ByPart = new Map();
  for (const around of listSiblingProcesses()) {
    try {
      const words = readCommandLine(around.pid);
      const part = PARTS.find(([, form]) => form.test(words))?.[0];
      if (part) sums.set(part, (sums.get(part) ?? 0) + measure(around));
    } catch {
      // The process has ended, or this system has no such file.
    }
  }
  return sums;
}

function readCommandLine(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
}

/** Returns the CPU-seconds of each part so far. */
export function cpuByPart(): ByPart {
  return byPart(({ cpuSeconds }) => cpuSeconds);
}

/** Returns the megabytes of each part: proportional shares, since PostgreSQL's processes share pages. */
export function memoryByPart(): ByPart {
  return byPart(({ pid }) => readKilobytes(pid, 'smaps_rollup', 'Pss') / 1_024);
}

/**
 * Returns the resident megabytes of each part. For PostgreSQL it counts private memory: the shared buffers fill up to
 * their fixed size as the tables grow.
 */
export function residentByPart(): ByPart {
  return byPart(({ pid }) => {
    const own = POSTGRES.test(readCommandLine(pid));
    return (
      (own ? readKilobytes(pid, 'smaps_rollup', 'Pss_Anon') : readKilobytes(pid, 'status', 'VmRSS')) / 1_024
    );
  });
}

const POSTGRES = /postgres/;

function readKilobytes(pid: number, file: string, name: string): number {
  const text = readFileSync(`/proc/${pid}/${file}`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

/** Returns the differences between two measurements, for the parts that used something. */
export function diffParts(before: ByPart, after: ByPart): ByPart {
  const used = [...after].map(([part, value]) => [part, value - (before.get(part) ?? 0)] as const);
  return new Map(used.filter(([, value]) => value > 0));
}

export function total(parts: ByPart): number {
  return [...parts.values()].reduce((sum, value) => sum + value, 0);
}

/** Returns the path of the database file of Temporal's dev server; null if there is none. */
export function findTemporalFile(): string | null {
  for (const { pid } of listSiblingProcesses()) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const at = words.indexOf('--db-filename');
      if (at >= 0) return words[at + 1] ?? null;
    } catch {
      // The process has ended.
    }
  }
  return null;
}
