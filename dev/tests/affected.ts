import { basename, dirname, posix } from 'node:path';

const TEST = /^test\/.*\.(?:test|long)\.ts$/;
/**
 * Files that affect every test without being named by it: the runner, and in FOR_ALL the settings of Node, TypeScript
 * and npm.
 */
const RUNNER = ['dev/tests/run.ts', 'test/support/lane.ts'];
const RUNNER_FOLDERS = /^(?:dev|test\/support)\//;
const FOR_ALL = ['package.json', 'package-lock.json', 'tsconfig.json', 'temporal-dev.yml', 'dev/run.mjs'];
const CODE = /\.(?:[cm]?[jt]sx?|ya?ml|py|css|html|sh)$/;
const LITERAL = /(['"`])([^'"`\n$]{1,200})\1/g;
/** Matches each possible file name only from its beginning, so that each is tried once. */
const FILE_NAME = /(?<![\w.-])[\w.-]{1,80}\.(?:[cm]?[jt]sx?|json|ya?ml|py|css|sh)\b/g;

/**
 * Returns the test files that changes affect, the closest first. A test depends on every file that it names in its
 * text, by an import or by the path of a program that it starts, and on the files that those name in turn. A change
 * outside `src/` also affects the test folder of the same name (`cli/` and `test/cli/`), and a change of a Markdown
 * file affects `test/docs/`.
 * @param files every file of the repository by its path, with its text
 */
export function affectedTests(changed: readonly string[], files: ReadonlyMap<string, string>): string[] {
  const tests = [...files.keys()].filter((file) => TEST.test(file)).toSorted();
  const references = referencesIn(files);
  const runner = runnerFiles(references);
  const affectsAll = (file: string) => FOR_ALL.includes(file) || (runner.has(file) && !TEST.test(file));
  if (changed.some(affectsAll)) return tests;
  const distances = distancesFrom(changed, dependentsOf(references));
  const folders = changed.map((file) =>
    file.endsWith('.md') ? 'test/docs/' : `test/${file.slice(0, file.indexOf('/') + 1) || 'none/'}`,
  );
  const isNamesake = (test: string) =>
    folders.some((folder) => folder !== 'test/test/' && test.startsWith(folder));
  const distanceOf = (test: string) => distances.get(test) ?? (isNamesake(test) ? 100 : null);
  return tests
    .flatMap((test) => {
      const distance = distanceOf(test);
      return distance === null ? [] : [{ test, distance }];
    })
    .toSorted((one, other) => one.distance - other.distance)
    .map(({ test }) => test);
}

/**
 * Returns the files that each file of code names. A document names files only to describe them, so it does not depend
 * on them.
 */
function referencesIn(files: ReadonlyMap<string, string>): Map<string, Set<string>> {
  const byName = Map.groupBy(files.keys(), (file) => basename(file));
  return new Map(
    [...files]
      .filter(([file]) => CODE.test(file))
      .map(([file, text]) => {
        const paths = [...text.matchAll(LITERAL)].flatMap(([, , literal = '']) => {
          const candidates = [posix.join(dirname(file), literal), posix.normalize(literal)];
          return candidates.find((path) => files.has(path)) ?? [];
        });
        // The text of a path that is put together from parts contains only its last part. It counts if it is
        // unambiguous.
        const named = [...text.matchAll(FILE_NAME)].flatMap(([name]) => {
          const found = byName.get(name) ?? [];
          return found.length === 1 ? found : [];
        });
        return [file, new Set([...paths, ...named])];
      }),
  );
}

function dependentsOf(references: ReadonlyMap<string, Set<string>>): Map<string, string[]> {
  const dependents = new Map<string, string[]>();
  for (const [file, named] of references)
    for (const reference of named) dependents.set(reference, [...(dependents.get(reference) ?? []), file]);
  return dependents;
}

/** Returns the files of the runner. */
function runnerFiles(references: ReadonlyMap<string, Set<string>>): Set<string> {
  const reached = new Set(RUNNER);
  for (const file of reached)
    for (const next of references.get(file) ?? []) if (RUNNER_FOLDERS.test(next)) reached.add(next);
  return reached;
}

/** Returns the number of steps from the nearest changed file. Unreached files are missing. */
function distancesFrom(
  changed: readonly string[],
  dependents: ReadonlyMap<string, readonly string[]>,
): Map<string, number> {
  const distances = new Map(changed.map((file) => [file, 0]));
  for (const [file, distance] of distances)
    for (const next of dependents.get(file) ?? [])
      if (!distances.has(next)) distances.set(next, distance + 1);
  return distances;
}
