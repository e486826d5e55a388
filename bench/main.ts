import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { formatSummary } from './support/format.ts';
import { toJson, mergeReports, type BenchReport } from './support/results.ts';
import { fileNameOf, RESULT_FILE } from './support/result-file.ts';
import { checkout, inCheckout } from '../dev/common/paths.ts';
import { progressOn } from '../dev/common/progress.ts';
import { runWithServices } from '../dev/tests/with-services.ts';

/*
 * `npm run bench [<name>] [-- options]` runs one benchmark, or all except the soak with one report. Each has separate
 * services with the settings of production. `npm run bench report -- <json> …` writes results into the documents.
 */
const WITHOUT_SERVICES = ['report'];
const ALL = ['tasks', 'webhooks', 'neighbours', 'channel', 'sender', 'reactions', 'growth', 'screens'];
const INTERRUPTED = 130;

async function run(name: string, args: string[]): Promise<number> {
  const file = inCheckout('bench', `${name}.ts`);
  if (WITHOUT_SERVICES.includes(name)) {
    process.argv.splice(2, Number.POSITIVE_INFINITY, ...args);
    await import(file);
    return 0;
  }
  return await runWithServices([file, ...args], progressOn(process.stderr), { durable: true });
}

/** Runs one benchmark after another and merges the results, even if one of them fails. */
async function runAll(args: string[]): Promise<number> {
  const began = fileNameOf(new Date());
  const folder = inCheckout('.local', 'bench', began);
  mkdirSync(folder, { recursive: true });
  const failed: string[] = [];
  for (const name of ALL) {
    process.env[RESULT_FILE] = join(folder, `${name}.json`);
    const code = await run(name, args);
    if (code === INTERRUPTED) return code;
    if (code !== 0) failed.push(name);
    console.log('');
  }
  const reports = globSync('*.json', { cwd: folder })
    .toSorted((a, b) => ALL.indexOf(basename(a, '.json')) - ALL.indexOf(basename(b, '.json')))
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as BenchReport);
  const report = mergeReports(reports);
  const whole = `${folder}.json`;
  writeFileSync(whole, toJson(report));
  console.log(
    `${formatSummary(report)}\n\nSaved to ${whole}. To write it into the documents: npm run bench report -- ${whole}`,
  );
  if (failed.length > 0) console.error(`Failed: ${failed.join(', ')}`);
  return failed.length > 0 ? 1 : 0;
}

const [first, ...others] = process.argv.slice(2);
const names = globSync('bench/*.ts', { cwd: checkout }).map((file) => basename(file, '.ts'));
const isName = first !== undefined && !first.startsWith('-');
if (isName && !names.includes(first)) {
  console.error(
    `Unknown benchmark: ${first}. Benchmarks: ${names.toSorted().join(', ')}. Without a name: all except the soak.`,
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
