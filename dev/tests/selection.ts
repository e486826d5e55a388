import { globSync } from 'node:fs';

/**
 * `fast`: the tests that `npm test` runs. `long`: tests that take long by their nature, which `npm run test:long` runs.
 */
export type Suite = 'fast' | 'long';

/** The paths of all test files from the root of the repository, sorted. */
export type TestFiles = Record<Suite, readonly string[]>;

const PATTERNS: Record<Suite, string> = { fast: 'test/**/*.test.ts', long: 'test/**/*.long.ts' };

/** Returns the test files of a repository. A file's name decides its suite: `*.test.ts` or `*.long.ts`. */
export function testFiles(root: string): TestFiles {
  const matching = (pattern: string) => globSync(pattern, { cwd: root }).toSorted();
  return { fast: matching(PATTERNS.fast), long: matching(PATTERNS.long) };
}

/**
 * Returns the test files that words choose: each word is a path, a folder below `test/`, or a part of a path. The fast
 * suite's words choose from both suites, so that every test can be run by its name. Without words, the whole suite.
 * @throws when a word matches no test file
 */
export function selectTests(suite: Suite, words: readonly string[], files: TestFiles): string[] {
  if (words.length === 0) return [...files[suite]];
  const candidates = suite === 'fast' ? [...files.fast, ...files.long].toSorted() : files.long;
  const chosen = words.flatMap((word) => {
    const matches = matchesOf(word, candidates);
    if (matches.length === 0)
      throw new Error(`No test file matches "${word}". There are:\n  ${candidates.join('\n  ')}`);
    return matches;
  });
  return [...new Set(chosen)];
}

function matchesOf(word: string, candidates: readonly string[]): readonly string[] {
  const path = word.replace(/^\.\//, '').replace(/\/$/, '');
  const exact = candidates.filter((file) => file === path);
  const below = candidates.filter((file) => file.startsWith(`${path}/`) || file.startsWith(`test/${path}/`));
  const found = [exact, below].find((files) => files.length > 0);
  return found ?? candidates.filter((file) => file.includes(path));
}
