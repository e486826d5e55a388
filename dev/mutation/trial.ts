import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { startLaneProcess, type LaneProcess, type Outcome as FileOutcome } from '../tests/lane-process.ts';
import { replacesClock, runAlone } from '../tests/lanes.ts';
import type { ServicesForTests } from '../tests/services.ts';
import type { Candidates } from './candidates.ts';
import type { Outcome } from './sample-report.ts';

/** The time for all test files of a mutant, and for those of a mutant that none is known to reach. */
const LIMIT_MS = 300_000;
const UNREACHED_LIMIT_MS = 45_000;
/** A test file hangs if it takes this much longer than usual. */
const [HANGS_FACTOR, HANGS_MS] = [4, 40_000];
/** The time in which a process must end that has closed its resources or was told to end, and the one for both. */
const [CLOSE_MS, LONGEST_CLOSE_MS] = [5_000, 30_000];

type Surroundings = { root: string; services: ServicesForTests; signal: AbortSignal };

/**
 * Runs test files in one process of their own, in a copy of the checkout, until one fails or the time is over. As in
 * `npm test`, files that replace the clock run in separate processes.
 */
export async function tryTests(candidates: Candidates, surroundings: Surroundings): Promise<Outcome> {
  const { root, services, signal } = surroundings;
  const stop = new AbortController();
  const start = () =>
    startLaneProcess(services, {
      root,
      signal: AbortSignal.any([signal, stop.signal]),
      live: false,
      leakLimitMs: CLOSE_MS,
    });
  const lane = await start();
  const run = (test: string) => (replacesClock(test) ? runAlone(test, start) : lane.run(test));
  const stopped = onceStopped(stop.signal);
  try {
    const outcome = await runUntilFailure(candidates, run, stop, stopped, signal);
    if (outcome.status === 'killed' || stop.signal.aborted) return outcome;
    const end = await Promise.race([lane.close(), stopped, sleep(LONGEST_CLOSE_MS, null, { ref: false })]);
    return end === null || !('how' in end) || end.how === 'code 0'
      ? outcome
      : {
          status: 'killed',
          by: 'the end of the process',
          reason: 'something is left open',
          files: outcome.files,
        };
  } finally {
    stop.abort();
    await Promise.race([lane.close(), stopped]);
  }
}

async function runUntilFailure(
  { tests, isReached }: Candidates,
  run: LaneProcess['run'],
  stop: AbortController,
  stopped: Promise<{ broken: string }>,
  signal: AbortSignal,
): Promise<Outcome> {
  const ends = performance.now() + (isReached ? LIMIT_MS : UNREACHED_LIMIT_MS);
  let files = 0;
  for (const { test, ms } of tests) {
    const remaining = ends - performance.now();
    if (remaining <= 0) break;
    const hangsAfter = HANGS_FACTOR * ms + HANGS_MS;
    const timer = setTimeout(() => stop.abort(), Math.min(remaining, hangsAfter));
    const result = await Promise.race([run(test), stopped]);
    clearTimeout(timer);
    signal.throwIfAborted();
    if (stop.signal.aborted && hangsAfter > remaining) break;
    files += 1;
    const reason = stop.signal.aborted ? 'it hangs' : reasonIn(result);
    if (reason !== null) return { status: 'killed', by: test, reason, files };
  }
  return { status: isReached ? 'survived' : 'not reached', files, isCutOff: files < tests.length };
}

/** Returns why a test file failed, or null if it passed. */
function reasonIn(result: { broken: string } | { outcome: FileOutcome }): string | null {
  if ('broken' in result) return `its process ended: ${result.broken}`;
  return result.outcome.failed[0]?.title ?? null;
}

/**
 * Resolves a while after a process was told to end. A program that a test has left running may keep its output open, so
 * that its end is not reported.
 */
async function onceStopped(signal: AbortSignal): Promise<{ broken: string }> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await sleep(CLOSE_MS, undefined, { ref: false });
  return { broken: 'it did not end' };
}
