import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** What a folder occupies: bytes, and the number of its files. */
export type FolderSize = { bytes: number; files: number };

/** Memory in bytes, with pages that processes share counted once, and the share of one core. */
export type Usage = { bytes: number; core: number };

const CLOCK_TICKS_PER_SECOND = 100;

/** Returns the size of a folder. Links are not followed. */
export function sizeOfFolder(folder: string): FolderSize {
  const size = { bytes: 0, files: 0 };
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const { bytes, files } = entry.isDirectory()
      ? sizeOfFolder(path)
      : { bytes: lstatSync(path).size, files: 1 };
    size.bytes += bytes;
    size.files += files;
  }
  return size;
}

/** Measures a process and its descendants for some time. Null except on Linux. */
export async function usageOf(pid: number, ms: number): Promise<Usage | null> {
  if (process.platform !== 'linux') return null;
  const before = cpuSeconds(pid);
  await wait(ms);
  const core = (cpuSeconds(pid) - before) / (ms / 1_000);
  return { bytes: sum(withDescendants(pid), memoryOf), core };
}

function cpuSeconds(pid: number): number {
  return sum(withDescendants(pid), (one) => statOf(one)?.seconds ?? 0);
}

function withDescendants(pid: number): number[] {
  const stats = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statOf(Number(name)) ?? []);
  const found = [pid];
  // The list grows while it is read.
  for (const parent of found)
    found.push(...stats.filter((one) => one.parent === parent).map((one) => one.pid));
  return found;
}

/** Null if the process has ended. `seconds`: the CPU time so far, without that of children. */
function statOf(pid: number): { pid: number; parent: number; seconds: number } | null {
  const text = readOrNull(`/proc/${pid}/stat`);
  if (text === null) return null;
  // The name of the program, in brackets, can contain spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { pid, parent: Number(fields[1]), seconds: ticks / CLOCK_TICKS_PER_SECOND };
}

function memoryOf(pid: number): number {
  const text = readOrNull(`/proc/${pid}/smaps_rollup`) ?? '';
  return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1_024;
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function sum(pids: readonly number[], valueOf: (pid: number) => number): number {
  return pids.reduce((all, pid) => all + valueOf(pid), 0);
}
