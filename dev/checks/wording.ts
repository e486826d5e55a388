import { globSync, readFileSync } from 'node:fs';
import { checkout, inCheckout } from '../common/paths.ts';
import { faultsInProse, faultsInText, type WordingFault } from './wording-rules.ts';

/*
 * `node dev/checks/wording.ts`: finds wording that readers stumble over in documents, comments, texts and names. Decisions and
 * the changelog record what was written at their time; the pages in reference/ come from the code.
 */
const PAGES = ['README.md', 'docs/**/*.md', 'clients/typescript/README.md', 'examples/**/*.md'];
const SOURCES = ['{src,workers,cli,web,clients,dev,bench,faults,examples,test}/**/*.{ts,tsx,js,py}'];
const LEFT_OUT =
  /^docs\/(decisions|reference)\/|node_modules|\/migrations\/|wording-rules|dependency-rules\.test|^web\/(dist|\.)|\/(dist|generated)\//;

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
