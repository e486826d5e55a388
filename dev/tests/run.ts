import { parseArgs } from 'node:util';
import { checkout } from '../common/paths.ts';
import { progressOn } from '../common/progress.ts';
import { ensureScreens } from '../launcher/web.ts';
import { changedFiles, repositoryFiles } from './changed.ts';
import { affectedTests } from './affected.ts';
import { lanesFor, longestFirst, runInLanes } from './lanes.ts';
import { selectTests, type Suite, testFiles } from './selection.ts';

/*
 * `npm test` and `npm run test:long`: select test files, start the services, run the files, clean up. The first
 * argument is the suite. The exit code is 0 if all tests passed, 1 if one failed, and 130 after Ctrl-C.
 */
const OPTIONS = {
  grep: { type: 'string', short: 'g' },
  changed: { type: 'boolean' },
  since: { type: 'string' },
  bail: { type: 'boolean', short: 'b' },
  verbose: { type: 'boolean', short: 'v' },
} as const;

const [suite = 'fast', ...args] = process.argv.slice(2);
try {
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  const chosen = selectTests(suite as Suite, positionals, testFiles(checkout));
  const isChangedOnly = values.changed === true || values.since !== undefined;
  const files = isChangedOnly ? onlyAffected(chosen, values.since ?? 'HEAD') : longestFirst(chosen);
  if (files.length > 0) {
    const progress = progressOn(process.stdout);
    if (files.some((file) => file.startsWith('test/web/')))
      await progress.step('screens', ensureScreens, (built) => (built ? 'built' : 'up to date'));
    process.exitCode = await runInLanes(files, {
      lanes: lanesFor(files.length),
      progress,
      bail: values.bail ?? false,
      verbose: values.verbose ?? false,
      ...(values.grep === undefined ? {} : { grep: values.grep }),
    });
  }
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

/**
 * Returns the files of `chosen` that the changes since a commit affect, the most closely affected first. Prints them.
 */
function onlyAffected(chosen: readonly string[], since: string): string[] {
  const changed = changedFiles(checkout, since);
  const affected = affectedTests(changed, repositoryFiles(checkout));
  const files = affected.filter((file) => chosen.includes(file));
  const others = affected.length - files.length;
  console.log(
    `${changed.length} changed ${changed.length === 1 ? 'file affects' : 'files affect'} ${files.length} of ` +
      `${chosen.length} test files${others > 0 ? ` (and ${others} that this command does not run)` : ''}.`,
  );
  if (files.length === 0) console.log('\n0 passed, 0 failed');
  return files;
}
