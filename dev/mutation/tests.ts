import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const IMPORT = /\bfrom '(\.[^']+)'/g;
/** What starts services, processes or browsers. A test that reaches one of these kills no mutants. */
const SERVICES =
  /^(test\/support\/(services|browser|world|service)|test\/properties\/.*-model|dev\/launcher\/.*|dev\/services\/.*)\.ts$/;
/** Folders of tests about other things than the mutated code; some start programs. */
const OTHERS = /^test\/(agents|cli|deploy|dev|docs|examples|faults|telemetry|web)\//;
/** Tests that take long or use sockets, although they need no services. */
const SLOW = [
  'test/outbound/attempt-tls.test.ts',
  'test/outbound/egress-proxy.test.ts',
  'test/security/configuration.test.ts',
  'test/security/constant-time.test.ts',
  'test/security/hostile-programs.test.ts',
  'test/security/passwords.test.ts',
  'test/workflows/bundle.test.ts',
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
    .filter((file) => !OTHERS.test(file) && !SLOW.includes(file))
    .map((file) => [file, reachedFrom(file, importsOf)] as const)
    .filter(([, reached]) => mutated.some((file) => reached.has(file)))
    .filter(([, reached]) => ![...reached.keys()].some((file) => SERVICES.test(file)));
  // Generated cases take the longest, and mostly find what a table finds before them.
  return new Map(reaches.toSorted(([one], [other]) => Number(isProperty(one)) - Number(isProperty(other))));
}

function isProperty(file: string): boolean {
  return file.startsWith('test/properties/');
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
