import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { local } from '../common/paths.ts';
import { progressOn, type Progress } from '../common/progress.ts';
import type { TestReach } from '../tests/reach.ts';
import { startTestServices, type ServicesForTests } from '../tests/services.ts';
import { candidatesFor } from './candidates.ts';
import { chooseMutants, orderOfFiles } from './choice.ts';
import { collectReach } from './collect.ts';
import { installStryker } from './install.ts';
import { loadMutantSource, sampledFiles, withMutant, type PlausibleMutant } from './plausible.ts';
import { readPlanted } from './planted.ts';
import { diffOf, sampleSummary, triedLine, type Tried } from './sample-report.ts';
import { tryTests } from './trial.ts';
import { createWorkingCopy, type WorkingCopy } from './working-copy.ts';

const COPY = local('mutation', 'sample');
const REACH = local('mutation', 'reach');
const RESULTS = local('mutation', 'sample.json');

/**
 * `planted`: a file with the mutants, see `planted.ts`; or they are chosen at random. `isFresh`: records again which tests
 * reach what. `isRepeated`: tries mutants again that no test killed.
 */
export type SampleOptions = {
  mutants: { planted: string } | RandomChoice;
  isFresh: boolean;
  isRepeated: boolean;
};
/** `count`: how many mutants. `paths`: only files and folders below these; all of `src` if there are none. */
type RandomChoice = { count: number; seed: number; paths: readonly string[] };

/**
 * Plants mutants one at a time in a copy of the checkout: those of a file, or ones chosen at random in the code that
 * `npm run mutate` does not mutate otherwise. Runs the tests that reach each one. Prints the survivors and the score. The
 * results of the same file or seed are kept, so that an interrupted sample continues.
 */
export async function sample(options: SampleOptions): Promise<void> {
  const progress = progressOn(process.stdout);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort());
  const copy = createWorkingCopy(COPY);
  if (options.isFresh) rmSync(REACH, { recursive: true, force: true });
  const source = sourceOf(options);
  const mutants =
    'planted' in options.mutants
      ? readPlanted(readFileSync(options.mutants.planted, 'utf8'), copy.files)
      : await choose(copy, options.mutants, progress);
  const reaches = await collectReach(copy, REACH);
  const known = earlierResults(source, options.isRepeated);
  const results = mutants.flatMap((mutant) => known.find((tried) => isSame(tried, mutant)) ?? []);
  const waiting = mutants.filter((mutant) => !known.some((tried) => isSame(tried, mutant)));
  const others = known.filter((tried) => !mutants.some((mutant) => isSame(tried, mutant)));
  const save = () => write(source, [...results, ...others]);
  if (waiting.length > 0)
    await withServices(progress, async (services) => {
      for (const mutant of waiting) {
        const tried = await tryMutant(mutant, { copy, reaches, services, signal: interrupted.signal });
        results.push(tried);
        save();
        console.log(`${results.length}/${mutants.length} ${triedLine(tried)}`);
      }
    });
  report(copy, results);
}

/** Returns the text that names where the mutants come from. */
function sourceOf({ mutants }: SampleOptions): string {
  return 'planted' in mutants ? resolve(mutants.planted) : `seed ${mutants.seed}`;
}

/** Returns the mutants chosen at random. */
async function choose(
  copy: WorkingCopy,
  { count, seed, paths }: RandomChoice,
  progress: Progress,
): Promise<PlausibleMutant[]> {
  await installStryker(progress);
  const textOf = (file: string) => copy.files.get(file) ?? '';
  const source = await loadMutantSource();
  const files = sampledFiles(copy.root).filter((file) => isBelow(file, paths));
  if (files.length === 0) throw new Error(`No file of a sample matches ${paths.join(' ')}.`);
  const sized = files.map((file) => ({ file, size: textOf(file).length }));
  return await chooseMutants(orderOfFiles(sized, seed), {
    count,
    seed,
    mutantsOf: (file) => source.mutantsOf(file, textOf(file)),
    accept: (mutant) => source.isValid(mutant.file, withMutant(textOf(mutant.file), mutant)),
  });
}

function isBelow(file: string, paths: readonly string[]): boolean {
  const folders = paths.map((path) => path.replace(/\/$/, ''));
  return folders.length === 0 || folders.some((path) => file === path || file.startsWith(`${path}/`));
}

async function tryMutant(
  mutant: PlausibleMutant,
  {
    copy,
    reaches,
    services,
    signal,
  }: { copy: WorkingCopy; reaches: readonly TestReach[]; services: ServicesForTests; signal: AbortSignal },
): Promise<Tried> {
  const text = copy.files.get(mutant.file) ?? '';
  const candidates = candidatesFor({ file: mutant.file, at: mutant.start }, reaches, copy.files);
  const outcome = await copy.withMutant(mutant, () =>
    tryTests(candidates, { root: copy.root, services, signal }),
  );
  return { ...mutant, line: text.slice(0, mutant.start).split('\n').length, outcome };
}

async function withServices(
  progress: Progress,
  work: (services: ServicesForTests) => Promise<void>,
): Promise<void> {
  const { services, stop } = await startTestServices(progress, { durable: false });
  try {
    await work(services);
  } finally {
    await stop();
  }
}

function report(copy: WorkingCopy, results: readonly Tried[]): void {
  for (const tried of results.filter(({ outcome }) => outcome.status !== 'killed'))
    console.log(`\n${triedLine(tried)}\n${diffOf(copy.files.get(tried.file) ?? '', tried)}`);
  console.log(`\n${sampleSummary(results.map(({ outcome }) => outcome))}`);
}

function earlierResults(source: string, isRepeated: boolean): Tried[] {
  if (!existsSync(RESULTS)) return [];
  const earlier = JSON.parse(readFileSync(RESULTS, 'utf8')) as { source: string; results: Tried[] };
  if (earlier.source !== source) return [];
  return earlier.results.filter(({ outcome }) => !isRepeated || outcome.status === 'killed');
}

function write(source: string, results: readonly Tried[]): void {
  mkdirSync(dirname(RESULTS), { recursive: true });
  writeFileSync(RESULTS, JSON.stringify({ source, results }, null, 1));
}

function isSame(one: PlausibleMutant, other: PlausibleMutant): boolean {
  const isSamePlace = one.file === other.file && one.start === other.start && one.end === other.end;
  return isSamePlace && one.original === other.original && one.replacement === other.replacement;
}
