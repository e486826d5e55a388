import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const IMPORT = /\bfrom '(\.[^']+)'/g;
/** Modules that start services, processes or browsers. A test that imports one of these is not run for mutants. */
const SERVICES =
  /^(test\/support\/(services|browser|world|service)|dev\/launcher\/.*|dev\/services\/.*)\.ts$/;
/** Folders of tests about other things than the mutated code; some start programs. */
const OTHERS = /^test\/(agents|cli|deploy|dev|docs|examples|faults|telemetry|web)\//;
/** Tests that take too long to run for each mutant: large inputs, thousands of random cases, sockets, slow hashes. */
const SLOW = [
  /^test\/properties\//,
  /^test\/domain\/(attempt-scheduler-simulation|json-spans-random)\.test\.ts$/,
  /^test\/outbound\/(attempt-tls|egress-proxy)\.test\.ts$/,
  /^test\/security\/(configuration|constant-time|hostile-programs|passwords|provider-responses)\.test\.ts$/,
  /^test\/api\/asyncapi-valid\.test\.ts$/,
  /^test\/workflows\/bundle\.test\.ts$/,
];

/** Test files that need no services, by their path, each with the files that it reaches, and in how many imports. */
export type Reach = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Finds the tests that may kill mutants of these files: those that reach one of them and need no services. */
export function reachOfTests(root: string, mutated: readonly string[]): Reach {
  const imports = new Map<string, string[]>();
  const importsOf = (file: string): string[] => {
    const known = imports.get(file) ?? readImports(root, file);
    imports.set(file, known);
    return known;
  };
  const files = globSync('test/**/*.test.ts', { cwd: root }).toSorted();
  const reaches = files
    .filter((file) => !OTHERS.test(file) && !SLOW.some((pattern) => pattern.test(file)))
    .map((file) => [file, reachedFrom(file, importsOf)] as const)
    .filter(([, reached]) => mutated.some((file) => reached.has(file)))
    .filter(([, reached]) => ![...reached.keys()].some((file) => SERVICES.test(file)));
  return new Map(reaches);
}

function reachedFrom(file: string, importsOf: (file: string) => string[]): Map<string, number> {
  const reached = new Map([[file, 0]]);
  for (const [one, steps] of reached)
    for (const next of importsOf(one)) if (!reached.has(next)) reached.set(next, steps + 1);
  return reached;
}

function readImports(root: string, file: string): string[] {
  const path = join(root, file);
  if (!existsSync(path)) return [];
  const named = readFileSync(path, 'utf8').matchAll(IMPORT);
  return [...named].map(([, specifier = '']) => join(dirname(file), specifier));
}
