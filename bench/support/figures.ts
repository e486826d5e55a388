import { readFileSync } from 'node:fs';

/** p50, p95 and the mean of samples, in the samples' unit. */
export type Summary = { p50: number; p95: number; mean: number };

export function summarise(samples: readonly number[]): Summary {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
  return { p50: at(0.5), p95: at(0.95), mean: sorted.reduce((sum, value) => sum + value, 0) / sorted.length };
}

/** Milliseconds of `work`. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Runs `work` for each number below `count`, `width` at a time. */
export async function sideBySide(
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

/** CPU-seconds that a process and its threads have used so far (Linux; 0 elsewhere). */
export function cpuSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    const [user, system, ofChildrenUser, ofChildrenSystem] = fields.slice(11, 15).map(Number);
    return ((user ?? 0) + (system ?? 0) + (ofChildrenUser ?? 0) + (ofChildrenSystem ?? 0)) / 100;
  } catch {
    return 0;
  }
}

/** A table of text columns, the first one left, the others right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  return rows.map(line).join('\n');
}
