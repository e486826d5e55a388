import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { printedSummary } from './support/printed.ts';
import { asJson, merged, type BenchReport } from './support/results.ts';
import { fileNameOf, RESULT_FILE } from './support/result-file.ts';
import { checkout, inCheckout } from '../dev/common/paths.ts';
import { progressOn } from '../dev/common/progress.ts';
import { runWithServices } from '../dev/tests/with-services.ts';

/*
 * `npm run bench [<name>] [-- words]`: one benchmark, or all but the soak in one report, each with services of its own
 * under production's settings. `npm run bench report -- <json> …` draws and writes what was measured before.
 */
const WITHOUT_SERVICES = ['report'];
const ALL = ['tasks', 'webhooks', 'channel', 'sender', 'reactions', 'growth'];
const INTERRUPTED = 130;

async function run(name: string, words: string[]): Promise<number> {
  const file = inCheckout('bench', `${name}.ts`);
  if (WITHOUT_SERVICES.includes(name)) {
    process.argv.splice(2, Number.POSITIVE_INFINITY, ...words);
    await import(file);
    return 0;
  }
  return await runWithServices([file, ...words], progressOn(process.stderr), { durable: true });
}

/** One bench after another; what each has found is put together, also where one of them fails. */
async function runAll(words: string[]): Promise<number> {
  const began = fileNameOf(new Date());
  const folder = inCheckout('.local', 'bench', began);
  mkdirSync(folder, { recursive: true });
  const failed: string[] = [];
  for (const name of ALL) {
    process.env[RESULT_FILE] = join(folder, `${name}.json`);
    const code = await run(name, words);
    if (code === INTERRUPTED) return code;
    if (code !== 0) failed.push(name);
    console.log('');
  }
  const reports = globSync('*.json', { cwd: folder })
    .toSorted((a, b) => ALL.indexOf(basename(a, '.json')) - ALL.indexOf(basename(b, '.json')))
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as BenchReport);
  const report = merged(reports);
  const whole = `${folder}.json`;
  writeFileSync(whole, asJson(report));
  console.log(
    `${printedSummary(report)}\n\nKept in ${whole}; npm run bench report -- ${whole} takes it into the documents.`,
  );
  if (failed.length > 0) console.error(`Failed: ${failed.join(', ')}`);
  return failed.length > 0 ? 1 : 0;
}

const [first, ...others] = process.argv.slice(2);
const names = globSync('bench/*.ts', { cwd: checkout }).map((file) => basename(file, '.ts'));
const isName = first !== undefined && !first.startsWith('-');
if (isName && !names.includes(first)) {
  console.error(
    `There is no ${first}. There are: ${names.toSorted().join(', ')}; without a name, all but the soak.`,
  );
  process.exitCode = 2;
} else {
  try {
    process.exitCode = isName ? await run(first, others) : await runAll(process.argv.slice(2));
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
