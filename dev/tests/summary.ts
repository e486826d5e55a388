import { inSeconds } from '../common/progress.ts';
import type { Failure, Outcome } from './lane-process.ts';

/** The result of one test file; `ms` is the time that it took. */
export type FileResult = Outcome & { file: string; ms: number };

const SLOWEST = 10;

/**
 * Prints the slowest files, what failed, and a last line with counts: `12 passed, 0 failed`, then `, 1 skipped` where
 * tests are pending. `problems` are failures outside of any file; `notRun`: files that were not run to
 * their end. Returns whether no test failed.
 */
export function printSummary(
  results: readonly FileResult[],
  {
    problems,
    notRun,
    elapsedMs,
  }: { problems: readonly Failure[]; notRun: readonly string[]; elapsedMs: number },
): boolean {
  if (results.length > 1) console.log(slowestFiles(results));
  const failed = [...results.flatMap((result) => result.failed), ...problems];
  if (failed.length > 0) console.log(`\nFailed:\n${failed.map(described).join('\n')}`);
  const sum = (member: 'passed' | 'skipped') => results.reduce((total, result) => total + result[member], 0);
  const skipped = sum('skipped');
  const files = `${results.length} ${results.length === 1 ? 'file' : 'files'}`;
  const others = notRun.length > 0 ? `, ${notRun.length} not run` : '';
  console.log(`\n${files} in ${(elapsedMs / 60_000).toFixed(1)} min${others}`);
  console.log(`${sum('passed')} passed, ${failed.length} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  return failed.length === 0;
}

function described({ title, reason = '' }: Failure): string {
  const lines = reason.split('\n').filter((line) => line.trim() !== '');
  return [`  ✗ ${title}`, ...lines.map((line) => `      ${line}`)].join('\n');
}

function slowestFiles(results: readonly FileResult[]): string {
  const slowest = results.toSorted((one, other) => other.ms - one.ms).slice(0, SLOWEST);
  const lines = slowest.map(
    ({ file, ms, setUpMs }) => `  ${inSeconds(ms)}  ${file}  (${inSeconds(setUpMs).trim()} in hooks)`,
  );
  return `\nSlowest files:\n${lines.join('\n')}`;
}
