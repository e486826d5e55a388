import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { checkout, inCheckout } from '../common/paths.ts';
import { inSeconds, type Progress } from '../common/progress.ts';
import { type Failure, type LaneProcess, type Outcome, startLaneProcess } from './lane-process.ts';
import { startTestServices } from './services.ts';
import { type FileResult, printSummary } from './summary.ts';

/** The duration of each test file during earlier runs, in milliseconds. */
const TIMES = inCheckout('.local', 'test-times.json');
/** The assumed duration of a file that has not been run yet, in milliseconds. */
const UNKNOWN_MS = 5_000;
/** Files that take minutes, the longest first: in a new checkout they begin before files that have not been run yet. */
export const LONGEST: readonly string[] = [
  'test/fuzz/every-endpoint.long.ts',
  'test/dev/walk.long.ts',
  'test/faults/scenario.long.ts',
  'test/upgrades/rehearsed-upgrade.long.ts',
  'test/docs/commands.long.ts',
  'test/upgrades/backup.long.ts',
  'test/faults/protocols.long.ts',
  'test/workflows/continuing.long.ts',
];
/** The assumed durations of these files, in milliseconds. */
const LONGEST_MS = new Map(LONGEST.map((file, index) => [file, (LONGEST.length - index) * 60_000]));
/** The maximum number of lanes. More have not been tried. */
const LANES_AT_MOST = 4;
/** How much of the output a summary repeats if the process of a lane ended badly. */
const LAST_LINES = 8;
/** A file that replaces the timers or the clock of its process. Services in the same process need the real ones. */
const REPLACES_CLOCK =
  /\bmock\.(timers\.enable\(|method\((globalThis|performance|Date),)|\bDate\.now = |\bholdTimers\(/;
const INTERRUPTED = 130;

export type LaneOptions = {
  lanes: number;
  progress: Progress;
  /** Prints the output of files that passed as well. */
  verbose: boolean;
  /** Starts no further file after a file with a failed test. */
  bail: boolean;
  /** Runs only tests whose full title matches this pattern. */
  grep?: string;
};

/** Returns the number of lanes for a number of files: `TEST_LANES`, or one for each core, at most four. */
export function lanesFor(files: number): number {
  const wanted = Number(process.env['TEST_LANES'] ?? '') || Math.min(LANES_AT_MOST, availableParallelism());
  return Math.max(1, Math.min(wanted, files));
}

/**
 * Runs test files in their order, concurrently in lanes. A lane is a process with its own PostgreSQL and Temporal, so
 * two lanes share nothing. Every file runs once; one that replaces the clock runs in a separate process. The output of a
 * file is printed when the file ends, if a test failed or `verbose` is set. A single lane prints immediately. Returns
 * the exit code.
 */
export async function runInLanes(files: readonly string[], options: LaneOptions): Promise<number> {
  const interrupted = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupted.abort());
  const began = performance.now();
  const run = new Run(files, options, interrupted.signal);
  const lanes = Array.from({ length: options.lanes }, (_, index) => run.lane(`lane ${index + 1}`));
  const broken = (await Promise.allSettled(lanes)).flatMap((lane) =>
    lane.status === 'rejected' ? [failureOf(lane.reason as Error)] : [],
  );
  remember(run.results);
  const isInterrupted = interrupted.signal.aborted;
  const passed = printSummary(run.results, {
    problems: isInterrupted ? [] : broken,
    notRun: [...run.cutOff, ...run.waiting],
    elapsedMs: performance.now() - began,
  });
  if (isInterrupted) return INTERRUPTED;
  return passed && run.waiting.length === 0 ? 0 : 1;
}

class Run {
  readonly results: FileResult[] = [];
  /** Files that were interrupted. */
  readonly cutOff: string[] = [];
  readonly waiting: string[];
  readonly #count: number;
  readonly #options: LaneOptions;
  readonly #signal: AbortSignal;

  constructor(files: readonly string[], options: LaneOptions, signal: AbortSignal) {
    this.waiting = [...files];
    this.#count = files.length;
    this.#options = options;
    this.#signal = signal;
  }

  /**
   * Runs files in one lane until none is left. If the process breaks, its file has failed, and another process
   * continues.
   */
  async lane(name: string): Promise<void> {
    const { progress, lanes, grep } = this.#options;
    const prefix = lanes > 1 ? { prefix: name } : {};
    const { services, stop } = await startTestServices(progress, { durable: false, ...prefix });
    const start = () =>
      startLaneProcess(services, { signal: this.#signal, live: lanes === 1, ...(grep ? { grep } : {}) });
    try {
      let lane = await start();
      for (let file = this.#next(); file !== undefined; file = this.#next()) {
        const began = performance.now();
        const isAlone = replacesClock(file);
        const result = isAlone ? await runAlone(file, start) : await lane.run(file);
        if ('broken' in result && this.#signal.aborted) {
          this.cutOff.push(file);
          break;
        }
        const outcome: Outcome =
          'broken' in result ? brokenOutcome(file, result.broken, result.output) : result.outcome;
        this.#record({ file, ms: performance.now() - began, ...outcome }, result.output);
        if (!isAlone && ('broken' in result || outcome.isStuck)) lane = await start();
      }
      const { how, output } = await lane.close();
      if (output !== '') console.log(output);
      if (how !== 'code 0' && !this.#signal.aborted)
        throw new Error(`${name} ended with ${how}`, { cause: lastLinesOf(output) });
    } finally {
      await stop();
    }
  }

  #next(): string | undefined {
    const isStopped = this.#options.bail && this.results.some(({ failed }) => failed.length > 0);
    return isStopped || this.#signal.aborted ? undefined : this.waiting.shift();
  }

  #record(result: FileResult, output: string): void {
    this.results.push(result);
    const { file, ms, passed, failed } = result;
    const isGood = failed.length === 0;
    if (output !== '' && (!isGood || this.#options.verbose)) console.log(output);
    const counts = `${passed} passed${isGood ? '' : `, ${failed.length} failed`}`;
    const progress = `${this.results.length}/${this.#count}`;
    console.log(`  ${isGood ? '✓' : '✗'} ${file}  ${inSeconds(ms).trim()}  ${counts}  (${progress})`);
    for (const longWait of result.longWaits) console.log(`    ${longWait}`);
  }
}

/** Returns whether a file must run in a process of its own, because it replaces the clock of its process. */
export function replacesClock(file: string): boolean {
  return REPLACES_CLOCK.test(readFileSync(resolve(checkout, file), 'utf8'));
}

/** Runs a file in a process of its own, which must leave nothing open. */
export async function runAlone(
  file: string,
  start: () => Promise<LaneProcess>,
): ReturnType<LaneProcess['run']> {
  const lane = await start();
  const result = await lane.run(file);
  if ('broken' in result) return result;
  const { how, output } = await lane.close();
  const printed = [result.output, output].filter((text) => text !== '').join('\n');
  return how === 'code 0' ? { ...result, output: printed } : { broken: how, output: printed };
}

function failureOf({ message, cause }: Error): Failure {
  return { title: message, ...(typeof cause === 'string' ? { reason: cause } : {}) };
}

function lastLinesOf(output: string): string {
  return output.split('\n').slice(-LAST_LINES).join('\n');
}

function brokenOutcome(file: string, how: string, output: string): Outcome {
  return {
    passed: 0,
    skipped: 0,
    longWaits: [],
    setUpMs: 0,
    failed: [
      {
        title: `${file} ended its process (${how})`,
        reason: lastLinesOf(output),
      },
    ],
  };
}

/** Returns the files in descending order of their earlier or assumed durations, so that no lane has a long file at the end. */
export function longestFirst(files: readonly string[], known = knownTimes()): string[] {
  const timeOf = (file: string) => known[file] ?? LONGEST_MS.get(file) ?? UNKNOWN_MS;
  return files.toSorted((one, other) => timeOf(other) - timeOf(one));
}

function knownTimes(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(TIMES, 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}

function remember(results: readonly FileResult[]): void {
  const times = Object.fromEntries(results.map(({ file, ms }) => [file, Math.round(ms)]));
  mkdirSync(dirname(TIMES), { recursive: true, mode: 0o700 });
  writeFileSync(TIMES, `${JSON.stringify({ ...knownTimes(), ...times }, null, 1)}\n`);
}
