import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inCheckout } from '../../dev/common/paths.ts';
import { formatBench } from './format.ts';
import { fileNameOf, RESULT_FILE } from './result-file.ts';
import { toJson, type BenchResult } from './results.ts';
import { describeEnvironment } from './environment.ts';
import { readBenchOptions, type BenchOptions } from './options.ts';
import { formatProfiles } from './profiles.ts';

/** The measurements of a benchmark, without the time and the machine. */
export type Measurements = Pick<BenchResult, 'tables' | 'ratios'> & Partial<Pick<BenchResult, 'series'>>;

export type BenchContext = BenchOptions & {
  log(sentence: string): void;
  /** The folder for a CPU profile of each process, if they are requested. */
  profiles: string | undefined;
};

const FOLDER = inCheckout('.local', 'bench');
const BEGAN = new Date();

/** Returns the folder for the CPU profiles of a benchmark, if they are requested. */
export function profileFolderOf(
  name: string,
  { profile }: Pick<BenchOptions, 'profile'>,
): string | undefined {
  return profile ? join(FOLDER, `${fileNameOf(BEGAN)}-${name}-profiles`) : undefined;
}

/**
 * Runs a benchmark: reads its options, measures, prints the results and saves them as JSON. Exits the process, since a
 * load generator has many resources that would keep it alive.
 */
export async function runBench(
  { name, title }: { name: string; title: string },
  measure: (context: BenchContext) => Promise<Measurements>,
): Promise<void> {
  const options = readBenchOptions(process.argv.slice(2));
  const profiles = profileFolderOf(name, options);
  const where = await describeEnvironment();
  const log = (sentence: string) => void process.stderr.write(`  … ${sentence}\n`);
  const { tables, ratios, series = [] } = await measure({ ...options, log, profiles });
  const result: BenchResult = {
    name,
    title,
    began_at: BEGAN.toISOString(),
    seconds: Math.round((Date.now() - BEGAN.getTime()) / 1_000),
    quick: options.quick,
    where,
    tables,
    ratios,
    series,
  };
  console.log(formatBench(result));
  if (profiles) console.log(`\n${formatProfiles(profiles)}\nThe profiles are in ${profiles}`);
  saveResult(result, process.env[RESULT_FILE] ?? join(FOLDER, `${fileNameOf(BEGAN)}-${name}.json`));
  process.exit(0);
}

function saveResult(result: BenchResult, file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, toJson({ benches: [result] }));
  if (!(RESULT_FILE in process.env)) console.log(`\nSaved to ${file}`);
}
