import { globSync, readFileSync } from 'node:fs';
import { checkout, inCheckout } from '../common/paths.ts';
import { faultsInProse } from './wording-rules.ts';

/** Decisions and the changelog record what was written at their time; the pages in reference/ come from the code. */
const PAGES = ['README.md', 'docs/**/*.md', 'clients/typescript/README.md', 'examples/**/*.md'];
const LEFT_OUT = /^docs\/(decisions|reference)\/|node_modules/;

const pages = PAGES.flatMap((pattern) => globSync(pattern, { cwd: checkout }))
  .filter((path) => !LEFT_OUT.test(path))
  .toSorted();
const faults = pages.flatMap((path) =>
  faultsInProse(readFileSync(inCheckout(path), 'utf8')).map(
    ({ line, found, better }) => `${path}:${line}: "${found}" → ${better}`,
  ),
);
for (const fault of faults) console.log(fault);
if (faults.length > 0) process.exitCode = 1;
