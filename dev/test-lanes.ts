import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { performance } from 'node:perf_hooks';
import { type Outcome, startLaneProcess } from './lane-process.ts';
import { inCheckout } from './paths.ts';
import { inSeconds, type Progress } from './progress.ts';
import { startTestServices } from './test-services.ts';

const TIMES = inCheckout('.local', 'test-times.json');
/** Folders whose files share something costly, and so stay together. */
const TOGETHER = /^test\/faults\/(?!story)/;
/** Where nothing is known yet, what takes long goes first, so that no lane is left with it at the end. */
const LONG = /^test\/(faults|upgrades|fuzz|deploy|docs|web|gateway|dev|agents|workflows\/callback)\b/;
/** More have not been tried. */
const LANES_AT_MOST = 4;

/**
 * How many lanes are of use: one for each core, since every lane has a PostgreSQL and a Temporal of its own to keep busy.
 */
export function lanesOf(files: readonly string[]): number {
  const wished = Number(process.env['TEST_LANES'] ?? '') || Math.min(LANES_AT_MOST, availableParallelism());
  return Math.max(1, Math.min(wished, unitsOf(files).length));
}

/** So many units that failed are run once more, alone: what fails only beside others tells of the machine. */
const ONCE_MORE_AT_MOST = 8;

/** What came of units, by their names; `broken` says what went wrong beside them. */
type Results = { of: Map<string, Outcome>; broken: string[] };

/**
 * Runs test files side by side in lanes, each a process with PostgreSQL and Temporal of its own, so that no two lanes
 * share anything. A file's output is shown when it is over. A few files that fail are run again, alone, and that is what
 * counts; the end names them. Answers the exit code; the last line counts.
 */
export async function runInLanes(files: readonly string[], progress: Progress): Promise<number> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => interrupted.abort());
  const { signal } = interrupted;
  const units = unitsOf(files);
  const results = await runUnits(units, lanesOf(files), progress, signal);
  const failed = units.filter((unit) => (results.of.get(nameOf(unit))?.failed.length ?? 0) > 0);
  const titles = [...results.of.values()].flatMap((outcome) => outcome.failed);
  if (failed.length > 0 && failed.length <= ONCE_MORE_AT_MOST && !signal.aborted) {
    console.log(`\nOnce more, alone: ${failed.map(nameOf).join(', ')}`);
    const again = await runUnits(failed, 1, progress, signal);
    for (const [name, outcome] of again.of) results.of.set(name, outcome);
    results.broken.push(...again.broken);
  }
  return tellEnd(results, titles, signal.aborted);
}

/** Runs units in so many lanes, and tells of each when it is over. */
async function runUnits(
  units: readonly string[][],
  lanes: number,
  progress: Progress,
  signal: AbortSignal,
): Promise<Results> {
  const queue = [...units];
  const results: Results = { of: new Map(), broken: [] };
  const tookMs: Record<string, number> = {};
  const take = () => (signal.aborted ? undefined : queue.shift());
  const note = (unit: string[], outcome: Outcome, ms: number) => {
    const { passed, failed } = outcome;
    results.of.set(nameOf(unit), outcome);
    tookMs[nameOf(unit)] = Math.round(ms);
    const mark = failed.length === 0 ? '✓' : '✗';
    const counted = `${passed} passed${failed.length > 0 ? `, ${failed.length} failed` : ''}`;
    const place = `(${units.length - queue.length}/${units.length})`;
    console.log(`  ${mark} ${nameOf(unit)}  ${inSeconds(ms).trim()}  ${counted}  ${place}`);
  };
  const running = Array.from({ length: lanes }, (_, index) =>
    runLane(`lane ${index + 1}`, { take, note, progress, signal }),
  );
  for (const lane of await Promise.allSettled(running)) {
    if (lane.status === 'rejected') results.broken.push((lane.reason as Error).message);
  }
  for (const unit of queue) results.broken.push(`${nameOf(unit)} was not run`);
  remember(tookMs);
  return results;
}

type LaneNeeds = {
  take(): string[] | undefined;
  note(unit: string[], outcome: Outcome, tookMs: number): void;
  progress: Progress;
  signal: AbortSignal;
};

/** One lane until there is nothing left to take. A process that breaks costs its files and is replaced. */
async function runLane(name: string, needs: LaneNeeds): Promise<void> {
  const { take, note, progress, signal } = needs;
  const { services, stop } = await startTestServices(progress, { durable: false, prefix: name });
  try {
    let lane = await startLaneProcess(services, signal);
    for (let unit = take(); unit !== undefined; unit = take()) {
      const began = performance.now();
      const result = await lane.run(unit);
      console.log(result.output);
      const isBroken = 'broken' in result;
      note(unit, isBroken ? brokenIn(unit, result.broken) : result.outcome, performance.now() - began);
      if (isBroken && !signal.aborted) lane = await startLaneProcess(services, signal);
    }
    const { how, output } = await lane.close();
    if (output !== '') console.log(output);
    if (how !== 'code 0' && !signal.aborted) throw new Error(`a lane of tests ended with ${how}`);
  } finally {
    await stop();
  }
}

function brokenIn(unit: string[], how: string): Outcome {
  return { passed: 0, skipped: 0, failed: [`${nameOf(unit)} ended its process (${how})`] };
}

/** What runs together, the longest first as far as the last run knows. */
function unitsOf(files: readonly string[]): string[][] {
  const together = files.filter((file) => TOGETHER.test(file));
  const units = files.filter((file) => !TOGETHER.test(file)).map((file) => [file]);
  if (together.length > 0) units.push(together);
  const known = timesKnown();
  const weightOf = (unit: string[]) =>
    known[nameOf(unit)] ?? (LONG.test(unit[0] ?? '') ? 10_000 : 1_000) * unit.length;
  return units.toSorted((one, other) => weightOf(other) - weightOf(one));
}

function nameOf(unit: string[]): string {
  return unit.length === 1 ? (unit[0] ?? '') : dirname(unit[0] ?? '');
}

function timesKnown(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(TIMES, 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}

function remember(tookMs: Record<string, number>): void {
  if (!existsSync(dirname(TIMES))) mkdirSync(dirname(TIMES), { recursive: true, mode: 0o700 });
  writeFileSync(TIMES, `${JSON.stringify({ ...timesKnown(), ...tookMs }, null, 1)}\n`);
}

/** `titles` are of all that failed at first. */
function tellEnd({ of, broken }: Results, titles: readonly string[], interrupted: boolean): number {
  const outcomes = [...of.values()];
  const failed = [...outcomes.flatMap((outcome) => outcome.failed), ...broken];
  const unsteady = titles.filter((title) => !failed.includes(title));
  const sum = (member: 'passed' | 'skipped') =>
    outcomes.reduce((total, outcome) => total + outcome[member], 0);
  const list = (words: string, mark: string, named: readonly string[]) => {
    if (named.length > 0)
      console.log(`\n${words}:\n${named.map((title) => `  ${mark} ${title}`).join('\n')}`);
  };
  list('Failed beside others, passed alone', '?', unsteady);
  list('Failed', '✗', failed);
  const skipped = sum('skipped');
  console.log(
    `\n${sum('passed')} passed, ${failed.length} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`,
  );
  if (interrupted) return 130;
  return failed.length === 0 ? 0 : 1;
}
