import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkout, inCheckout } from '../../dev/common/paths.ts';
import { hashOf, reachFile, type CalledFunctions, type TestReach } from '../../dev/tests/reach.ts';

/** Records which functions of `src` this process has called since the last record, for a test file. */
export type ReachRecorder = {
  record(test: string, result: { ms: number; isPassed: boolean }): Promise<void>;
};

/**
 * Starts to count calls of functions, and returns a recorder that writes one file for each test file into a folder.
 * Calls in child processes and worker threads are not counted.
 */
export async function recordReach(folder: string): Promise<ReachRecorder> {
  mkdirSync(folder, { recursive: true });
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const source = `${inCheckout('src')}${sep}`;
  return {
    async record(test, result) {
      const { result: scripts } = await session.post('Profiler.takePreciseCoverage');
      const sources: Record<string, CalledFunctions> = {};
      for (const { url, functions } of scripts) {
        const path = url.startsWith('file:') ? fileURLToPath(url) : '';
        if (!path.startsWith(source)) continue;
        const ranges = functions.flatMap(({ ranges: [range] }) => (range ? [range] : []));
        if (ranges.every(({ count }) => count === 0)) continue;
        sources[relative(checkout, path)] = {
          hash: hashOf(readFileSync(path, 'utf8')),
          functions: ranges.map(({ startOffset, endOffset, count }) => [startOffset, endOffset, count]),
        };
      }
      const hash = hashOf(readFileSync(inCheckout(test), 'utf8'));
      const reach: TestReach = { test, hash, ...result, sources };
      writeFileSync(join(folder, reachFile(test)), JSON.stringify(reach));
    },
  };
}
