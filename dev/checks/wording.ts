import { globSync, readFileSync } from 'node:fs';
import { checkout, inCheckout } from '../common/paths.ts';
import { faultsInProse, faultsInText, type WordingFault } from './wording-rules.ts';

/*
 * `node dev/checks/wording.ts`: finds wording that is hard to read in documents, comments, texts and names. It does not
 * read the changelog and the pages in docs/reference/, which are generated from the code.
 */
const PAGES = ['README.md', '{docs,deploy,examples}/**/*.md', 'clients/*/README.md'];
const SOURCES = [
  '{src,workers,cli,web,clients,dev,bench,faults,simulation,examples,test}/**/*.{ts,tsx,js,mjs,py,go}',
];
const LEFT_OUT =
  /^docs\/reference\/|node_modules|\/migrations\/|wording-rules|dependency-rules\.test|^web\/(dist|\.)|\/(dist|generated)\//;

const faults = [...faultsOf(PAGES, faultsInProse), ...faultsOf(SOURCES, faultsInText)];
for (const fault of faults) console.log(fault);
if (faults.length > 0) process.exitCode = 1;

function faultsOf(patterns: readonly string[], faultsIn: (text: string) => WordingFault[]): string[] {
  return patterns
    .flatMap((pattern) => globSync(pattern, { cwd: checkout, exclude: ['**/node_modules'] }))
    .filter((path) => !LEFT_OUT.test(path))
    .toSorted()
    .flatMap((path) =>
      faultsIn(readFileSync(inCheckout(path), 'utf8')).map(
        ({ line, found, better }) => `${path}:${line}: "${found}" → ${better}`,
      ),
    );
}
