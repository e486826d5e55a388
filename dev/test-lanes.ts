import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { performance } from 'node:perf_hooks';
import { type Outcome, startLaneProcess } from './lane-process.ts';
import { inCheckout } from './paths.ts';
import { inSeconds, type Progress } from './progress.ts';
import { startTestServices } from './test-services.ts';

type Book = Outcome & { tookMs: Record<string, number> };

const TIMES = inCheckout('.local', 'test-times.json');
/** Folders whose files share something costly, and so stay together. */
const TOGETHER = /^test\/faults\/(?!story)/;
/** Where nothing is known yet, what takes long goes first, so that no lane is left with it at the end. */
const LONG = /^test\/(faults|web|gateway|dev|agents)\//;

/** How many lanes are of use: tests wait more than they work, but each lane has its own PostgreSQL and Temporal. */
export function lanesOf(files: readonly string[]): number {
  const wished = Number(process.env['TEST_LANES'] ?? '') || Math.min(2, availableParallelism());
  return Math.max(1, Math.min(wished, unitsOf(files).length));
}

/**
 * Runs test files side by side in lanes, each a process with PostgreSQL and Temporal of its own, so that no two lanes
 * share anything. A file's output is shown when it is over. Answers the exit code; the last line counts.
 */
export async function runInLanes(files: readonly string[], progress: Progress): Promise<number> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => interrupted.abort());
  const queue = unitsOf(files);
  const total = queue.length;
  const book: Book = { passed: 0, skipped: 0, failed: [], tookMs: {} };
  const take = () => (interrupted.signal.aborted ? undefined : queue.shift());
  const note = (unit: string[], { passed, skipped, failed }: Outcome, tookMs: number) => {
    book.passed += passed;
    book.skipped += skipped;
    book.failed.push(...failed);
    book.tookMs[nameOf(unit)] = Math.round(tookMs);
    const mark = failed.length === 0 ? '✓' : '✗';
    const counted = `${passed} passed${failed.length > 0 ? `, ${failed.length} failed` : ''}`;
    console.log(
      `  ${mark} ${nameOf(unit)}  ${inSeconds(tookMs).trim()}  ${counted}  (${total - queue.length}/${total})`,
    );
  };
  const lanes = Array.from({ length: lanesOf(files) }, (_, index) =>
    runLane(`lane ${index + 1}`, { take, note, progress, signal: interrupted.signal }),
  );
  for (const lane of await Promise.allSettled(lanes)) {
    if (lane.status === 'rejected') book.failed.push((lane.reason as Error).message);
  }
  for (const unit of queue) book.failed.push(`${nameOf(unit)} was not run`);
  remember(book.tookMs);
  return tellEnd(book, interrupted.signal.aborted);
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

function tellEnd({ passed, skipped, failed }: Outcome, interrupted: boolean): number {
  if (failed.length > 0) console.log(`\nFailed:\n${failed.map((title) => `  ✗ ${title}`).join('\n')}`);
  console.log(`\n${passed} passed, ${failed.length} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  if (interrupted) return 130;
  return failed.length === 0 ? 0 : 1;
}
