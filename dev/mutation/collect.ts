import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { hashOf, reachFile, readReach, type TestReach } from '../tests/reach.ts';
import { testFiles } from '../tests/selection.ts';
import type { WorkingCopy } from './working-copy.ts';

/** Tests of other things than `src`, of browsers, and of simulated worlds, which run in threads. They are not run for mutants. */
const LEFT_OUT = /^test\/(?:bench|deploy|dev|docs|examples|faults|simulation|web)\//;

/**
 * Returns which functions of `src` each fast test file calls. Runs the files of which that is not yet recorded in the
 * folder, or that have changed since.
 */
export async function collectReach(copy: WorkingCopy, folder: string): Promise<TestReach[]> {
  const tests = testFiles(copy.root).fast.filter((test) => !LEFT_OUT.test(test));
  const isCurrent = ({ test, hash }: TestReach) => hashOf(copy.files.get(test) ?? '') === hash;
  const known = readReach(folder).filter((reach) => isCurrent(reach) && reach.isPassed);
  const knownTests = new Set(known.map(({ test }) => test));
  const missing = tests.filter((test) => !knownTests.has(test));
  if (missing.length === 0) return known;
  console.log(`Running ${missing.length} test files to find out which functions they call.`);
  for (const test of missing) rmSync(join(folder, reachFile(test)), { force: true });
  await runTests(copy.root, missing, folder);
  return readReach(folder).filter(isCurrent);
}

/** Runs test files in the copy. Files that fail are not used for mutants, so the exit code does not count. */
function runTests(root: string, tests: readonly string[], folder: string): Promise<void> {
  const runner = spawn(process.execPath, [join(root, 'dev/tests/run.ts'), 'fast', ...tests], {
    cwd: root,
    stdio: 'inherit',
    // Node does not report all functions of code that it loads compiled.
    env: { ...process.env, BATON_TEST_REACH: folder, NODE_DISABLE_COMPILE_CACHE: '1' },
  });
  return new Promise((done, fail) => {
    runner.once('error', fail).once('close', (code) => {
      if (code === 130) fail(new Error('Interrupted.'));
      else done();
    });
  });
}
