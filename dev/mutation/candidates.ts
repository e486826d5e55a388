import { affectedTests } from '../tests/affected.ts';
import { testsCalling, testsUsing, type TestReach } from '../tests/reach.ts';

/** Code that runs in threads of Temporal's workers, where calls are not counted. */
const IN_THREADS = /^src\/workflows\//;
const TESTS_OF_WORKFLOWS = /^test\/(?:agents|workflows)\//;

const WORD_LENGTH = 4;

/** Test files to run for a mutant, the most promising first. `isReached`: whether it is known that they reach it. */
export type Candidates = { tests: { test: string; ms: number }[]; isReached: boolean };

/**
 * Returns the test files that may notice a mutant: those that call its function, then those that call others of its file.
 * A service that several test files share calls some functions only once, for the first of these. If no test file is
 * known, for example because the code runs in a process that a test starts, it returns those that depend on the file by
 * imports; for workflows also all tests of workflows and agents.
 * @param files every file of the repository by its path, with its text
 */
export function candidatesFor(
  { file, at }: { file: string; at: number },
  reaches: readonly TestReach[],
  files: ReadonlyMap<string, string>,
): Candidates {
  // A test that fails without a mutant says nothing.
  const usable = reaches.filter(({ isPassed }) => isPassed);
  const calling = testsCalling(usable, { file, text: files.get(file) ?? '', at }) ?? [];
  const isInThreads = IN_THREADS.test(file);
  if (calling.length > 0 && !isInThreads) {
    const others = testsUsing(usable, file).filter((reach) => !calling.includes(reach));
    return { tests: [...inOrder(file, calling), ...inOrder(file, others)], isReached: true };
  }
  const affected = new Set(affectedTests([file], files));
  // A bundle of workflows names its entries only in part.
  const importing = usable.filter(
    ({ test }) => affected.has(test) || (isInThreads && TESTS_OF_WORKFLOWS.test(test)),
  );
  return { tests: inOrder(file, importing.length > 0 ? importing : usable), isReached: isInThreads };
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
