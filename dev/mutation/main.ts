import { spawn } from 'node:child_process';
import { existsSync, globSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { checkout, inCheckout, local } from '../common/paths.ts';
import { progressOn } from '../common/progress.ts';
import { installStryker } from './install.ts';
import { reportPage, scoreTable } from './report.ts';
import { forgetUnkilled, readResults, scoresOf, unlistedIn } from './results.ts';
import { sample } from './sample.ts';
import { filesBySubject } from './subjects.ts';

/*
 * `npm run mutate`: makes small changes to the code that decides, one at a time, and runs the fast tests for each.
 * Without arguments it changes all of that code, with arguments only these files. The results of other files are kept.
 * The exit code is 1 if a mutant survived that is not listed. With `--sample`, it tries that many changes of the other
 * code, see `sample.ts`; with `--planted`, the changes in a file.
 */
const OPTIONS = {
  changed: { type: 'boolean' },
  report: { type: 'boolean' },
  concurrency: { type: 'string' },
  sample: { type: 'string' },
  planted: { type: 'string' },
  seed: { type: 'string' },
  collect: { type: 'boolean' },
} as const;
const RESULTS = local('mutation', 'results.json');
const PAGE = inCheckout('docs', 'explanation', 'mutation-testing.md');

try {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  if (values.report) writeFileSync(PAGE, reportPage(readResults(RESULTS)));
  else if (values.planted !== undefined || values.sample !== undefined)
    await sample({
      mutants:
        values.planted !== undefined
          ? { planted: values.planted }
          : {
              count: wholeNumber('--sample', values.sample ?? ''),
              seed: wholeNumber('--seed', values.seed ?? '1'),
              paths: positionals,
            },
      isFresh: values.collect ?? false,
      isRepeated: values.changed ?? false,
    });
  else process.exitCode = await mutate(filesOf(positionals), values);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

/** @throws Error if the text is not a whole number */
function wholeNumber(option: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${option} must be a whole number.`);
  return Number(text);
}

/** Returns the files that the arguments name; all files if there are none. */
function filesOf(words: readonly string[]): string[] {
  const all = filesBySubject(checkout).flatMap(({ files }) => files);
  if (words.length === 0) return all;
  const named = new Set(words.flatMap((word) => globSync([word, `${word}/**/*.ts`], { cwd: checkout })));
  const files = all.filter((file) => named.has(file));
  if (files.length === 0) throw new Error(`No file that is mutated matches ${words.join(' ')}.`);
  return files;
}

async function mutate(
  files: readonly string[],
  {
    changed = false,
    concurrency = String(availableParallelism()),
  }: { changed?: boolean; concurrency?: string },
): Promise<number> {
  await installStryker(progressOn(process.stdout));
  if (changed && existsSync(RESULTS)) forgetUnkilled(RESULTS);
  const args = ['--mutate', files.join(','), '--concurrency', concurrency, ...(changed ? [] : ['--force'])];
  const code = await runStryker(args);
  if (code !== 0) return code;
  const results = readResults(RESULTS);
  console.log(`\n${scoreTable(scoresOf(results))}`);
  const unlisted = unlistedIn(results);
  for (const { file, line, original, replacement } of unlisted)
    console.log(`\n${file}:${line}\n- ${original}\n+ ${replacement}`);
  console.log(`\n${unlisted.length} survivors are not in dev/mutation/survivors.ts.`);
  return unlisted.length > 0 ? 1 : 0;
}

function runStryker(args: readonly string[]): Promise<number> {
  const program = inCheckout('dev/mutation/node_modules/@stryker-mutator/core/bin/stryker.js');
  const config = inCheckout('dev/mutation/stryker.config.json');
  const stryker = spawn(process.execPath, [program, 'run', config, ...args], {
    cwd: checkout,
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stryker.kill(signal));
  return new Promise((done, fail) => {
    stryker.once('error', fail).once('close', (code) => done(code ?? 1));
  });
}
