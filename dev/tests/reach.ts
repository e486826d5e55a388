import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The functions of a file, each with its first and last position in the text, and the number of calls. */
export type CalledFunctions = { hash: string; functions: [start: number, end: number, calls: number][] };

/** Which functions of `src` a test file has called, by source file. `hash`: of the text of the test file. */
export type TestReach = {
  test: string;
  hash: string;
  ms: number;
  isPassed: boolean;
  sources: Record<string, CalledFunctions>;
};

/** Returns a short hash of the text of a file. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Returns the name of the file that contains the reach of a test file. */
export function reachFile(test: string): string {
  return `${test.replaceAll('/', '+')}.json`;
}

/** Returns what has been recorded in a folder. */
export function readReach(folder: string): TestReach[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as TestReach);
}

/**
 * Returns the test files that call the innermost function around a position of a source file; null if no test file has
 * loaded the source file. A source file that has changed since the record counts as one function.
 */
export function testsCalling(
  reaches: readonly TestReach[],
  { file, text, at }: { file: string; text: string; at: number },
): TestReach[] | null {
  const hash = hashOf(text);
  const known = reaches.flatMap((reach) => {
    const source = reach.sources[file];
    return source ? [{ reach, source }] : [];
  });
  if (known.length === 0) return null;
  const around = known
    .filter(({ source }) => source.hash === hash)
    .flatMap(({ source }) => source.functions.filter(([start, end]) => start <= at && at < end));
  const lengths = around.map(([start, end]) => end - start);
  const innermost = Math.min(...lengths, text.length);
  // Code outside of any function is called only by the first test file that loads it.
  if (innermost >= text.length) return known.map(({ reach }) => reach);
  return known
    .filter(
      ({ source }) =>
        source.hash !== hash ||
        source.functions.some(
          ([start, end, calls]) => calls > 0 && start <= at && at < end && end - start === innermost,
        ),
    )
    .map(({ reach }) => reach);
}

/** Returns the test files that call any function of a source file. */
export function testsUsing(reaches: readonly TestReach[], file: string): TestReach[] {
  return reaches.filter(({ sources }) => sources[file]?.functions.some(([, , calls]) => calls > 0) ?? false);
}
