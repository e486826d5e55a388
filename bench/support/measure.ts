import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

/** p50, p95, p99 and the mean of samples, in the samples' unit. */
export type Summary = { p50: number; p95: number; p99: number; mean: number };

/** Returns the percentiles and the mean of samples. */
export function summarize(samples: readonly number[]): Summary {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), mean };
}

/** Returns the milliseconds that `work` takes. */
export async function measureMs(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Runs `work` for each number below `count`, with at most `width` calls in progress. */
export async function runConcurrently(
  count: number,
  width: number,
  work: (number: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const one = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: width }, one));
}

/** The interval of {@link runSteadily}, in milliseconds: 20 a second. */
const INTERVAL_MS = 50;

/** Starts `work` 20 times a second, however long it takes. Returns the results. */
export async function runSteadily<Result>(count: number, work: () => Promise<Result>): Promise<Result[]> {
  const under: Promise<Result>[] = [];
  const begun = performance.now();
  for (let number = 0; number < count; number += 1) {
    under.push(work());
    await wait(Math.max(0, begun + (number + 1) * INTERVAL_MS - performance.now()));
  }
  return await Promise.all(under);
}

/**
 * Returns the other descendants of this process's parent: the servers and the measured processes. Empty except on Linux.
 * `cpuSeconds` includes the children of a process that have ended, such as closed connections of PostgreSQL.
 */
export function listSiblingProcesses(): { pid: number; cpuSeconds: number }[] {
  if (!existsSync('/proc')) return [];
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => readStat(Number(pid)));
  const parents = new Map(processes.map(({ pid, parent }) => [pid, parent]));
  const isAround = (pid: number): boolean => {
    for (let above: number | undefined = pid; above !== undefined; above = parents.get(above)) {
      if (above === process.ppid) return true;
    }
    return false;
  };
  return processes
    .filter(({ pid }) => pid !== process.pid && pid !== process.ppid && isAround(pid))
    .map(({ pid, seconds }) => ({ pid, cpuSeconds: seconds }));
}

function readStat(pid: number): { pid: number; parent: number; seconds: number }[] {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    const ticks = fields.slice(11, 15).map(Number);
    return [{ pid, parent: Number(fields[1]), seconds: ticks.reduce((sum, one) => sum + one, 0) / 100 }];
  } catch {
    // The process has ended, or this is not Linux.
    return [];
  }
}

/** Formats a text table. The first column is left-aligned, the others right-aligned. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  return rows.map(line).join('\n');
}
