import { globSync } from 'node:fs';

const PATTERN = 'test/**/*.test.ts';
/** Options of mocha's that take the next word as their value. */
const WITH_VALUE = /^(-g|-f|-t|-s|-R|-O|-r|--grep|--fgrep|--timeout|--slow|--reporter|--retries|--require)$/;

/**
 * The words for mocha from those of the command line: options pass as they are; any other word chooses tests, by a
 * path, by a folder below `test/`, or by a part of a test file's path. Without such a word all tests run.
 * @throws when a word fits no test
 */
export function selectTests(args: string[], root: string): string[] {
  const all = globSync(PATTERN, { cwd: root }).toSorted();
  const options: string[] = [];
  const chosen = new Set<string>();
  let words = 0;
  args.forEach((arg, index) => {
    if (arg.startsWith('-') || WITH_VALUE.test(args[index - 1] ?? '')) {
      options.push(arg);
      return;
    }
    words += 1;
    const found = testsNamed(arg, all);
    if (found.length === 0) throw new Error(`No test is called ${arg}. There are: ${all.join(', ')}`);
    for (const file of found) chosen.add(file);
  });
  return [...options, ...(words === 0 ? all : chosen)];
}

function testsNamed(word: string, all: string[]): string[] {
  const plain = word.replace(/^\.\//, '').replace(/\/$/, '');
  const exact = all.filter((file) => file === plain);
  const below = all.filter((file) => file.startsWith(`${plain}/`) || file.startsWith(`test/${plain}/`));
  const found = [exact, below].find((files) => files.length > 0);
  return found ?? all.filter((file) => file.includes(plain));
}
