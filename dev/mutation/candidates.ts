import { affectedTests } from '../tests/affected.ts';
import { testsCalling, testsUsing, type TestReach } from '../tests/reach.ts';

/** Code that runs in threads of Temporal's workers, where calls are not counted. */
const IN_THREADS = /^src\/workflows\//;
const TESTS_OF_WORKFLOWS = /^test\/(?:agents|workflows)\//;

const WORD_LENGTH = 4;

/** Test files to run for a mutant, the most promising first. `isReached`: whether it is known that they reach it. */
export type Candidates = { tests: { test: string; ms: number }[]; isReached: boolean };

/**
 * Returns the test files that may notice a mutant: those that call its function, then those that call others of its file,
 * then those that depend on the file by imports. A service that several test files share loads its code and calls some
 * functions only once, for the first of these. Code of workflows may be noticed by all tests of workflows and agents.
 * @param files every file of the repository by its path, with its text
 */
export function candidatesFor(
  { file, at }: { file: string; at: number },
  reaches: readonly TestReach[],
  files: ReadonlyMap<string, string>,
): Candidates {
  // A test that fails without a mutant says nothing.
  const usable = reaches.filter(({ isPassed }) => isPassed);
  const isInThreads = IN_THREADS.test(file);
  const calling = isInThreads ? [] : (testsCalling(usable, { file, text: files.get(file) ?? '', at }) ?? []);
  const using = isInThreads ? [] : testsUsing(usable, file);
  const affected = new Set(affectedTests([file], files));
  // A bundle of workflows names its entries only in part.
  const importing = usable.filter(
    ({ test }) => affected.has(test) || (isInThreads && TESTS_OF_WORKFLOWS.test(test)),
  );
  const groups = [calling, using, importing].map((group) => inOrder(file, group));
  const tests = [...new Map(groups.flat().map((one) => [one.test, one])).values()];
  return {
    tests: tests.length > 0 ? tests : inOrder(file, usable),
    isReached: isInThreads || calling.length > 0,
  };
}

/** Orders test files by their duration. Those whose path has words of the mutated file count as shorter. */
function inOrder(file: string, reaches: readonly TestReach[]): { test: string; ms: number }[] {
  const wanted = wordsOf(file);
  const costOf = ({ test, ms }: TestReach) => ms / (1 + wordsOf(test).intersection(wanted).size) ** 2;
  return reaches
    .map((reach) => ({ test: reach.test, ms: reach.ms, cost: costOf(reach) }))
    .toSorted((one, other) => one.cost - other.cost)
    .map(({ test, ms }) => ({ test, ms }));
}

/** Returns the beginnings of the words of a path, so that `retries` and `retry` are the same. */
function wordsOf(file: string): Set<string> {
  const words = file
    .replace(/(?:\.test)?\.ts$/, '')
    .split(/[/-]/)
    .slice(1);
  return new Set(words.map((word) => word.slice(0, WORD_LENGTH)));
}
