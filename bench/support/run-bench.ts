import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inCheckout } from '../../dev/common/paths.ts';
import { printed } from './printed.ts';
import { fileNameOf, RESULT_FILE } from './result-file.ts';
import { asJson, type BenchResult } from './results.ts';
import { whereItRuns } from './where.ts';
import { readBenchOptions, type BenchOptions } from './options.ts';
import { profileSummary } from './profiles.ts';

/** What a bench itself finds; when and where it ran is added here. */
export type Found = Pick<BenchResult, 'tables' | 'ratios'> & Partial<Pick<BenchResult, 'series'>>;

export type BenchContext = BenchOptions & {
  say(sentence: string): void;
  /** The folder that gets a CPU profile of each process, where one is wanted. */
  profiles: string | undefined;
};

const FOLDER = inCheckout('.local', 'bench');
const BEGAN = new Date();

/** The folder for the CPU profiles of a bench, where they are wanted. */
export function profileFolder(name: string, { profile }: Pick<BenchOptions, 'profile'>): string | undefined {
  return profile ? join(FOLDER, `${fileNameOf(BEGAN)}-${name}-profiles`) : undefined;
}

/**
 * Runs a bench as the program it is: reads its options, lets it measure, prints what it found and keeps it as JSON.
 * Ends the process, since a load generator has much that would keep it alive.
 */
export async function runBench(
  { name, title }: { name: string; title: string },
  measure: (context: BenchContext) => Promise<Found>,
): Promise<void> {
  const options = readBenchOptions(process.argv.slice(2));
  const profiles = profileFolder(name, options);
  const where = await whereItRuns();
  const say = (sentence: string) => void process.stderr.write(`  … ${sentence}\n`);
  const { tables, ratios, series = [] } = await measure({ ...options, say, profiles });
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
  console.log(printed(result));
  if (profiles) console.log(`\n${profileSummary(profiles)}\nThe profiles are in ${profiles}`);
  keep(result, process.env[RESULT_FILE] ?? join(FOLDER, `${fileNameOf(BEGAN)}-${name}.json`));
  process.exit(0);
}

function keep(result: BenchResult, file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, asJson({ benches: [result] }));
  if (!(RESULT_FILE in process.env)) console.log(`\nKept in ${file}`);
}
