import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { startLaneProcess } from '../tests/lane-process.ts';
import type { ServicesForTests } from '../tests/services.ts';
import type { Candidates } from './candidates.ts';
import type { Outcome } from './sample-report.ts';

/** The time for all test files of a mutant, and for those of a mutant that none is known to reach. */
const LIMIT_MS = 150_000;
const UNREACHED_LIMIT_MS = 45_000;
/** A test file hangs if it takes this much longer than usual. */
const [HANGS_FACTOR, HANGS_MS] = [4, 40_000];
/** The time in which the process of a mutant must end. */
const CLOSE_MS = 5_000;

/** Runs test files in one process of their own, in a copy of the checkout, until one fails or the time is over. */
export async function tryTests(
  { tests, isReached }: Candidates,
  { root, services, signal }: { root: string; services: ServicesForTests; signal: AbortSignal },
): Promise<Outcome> {
  const ends = performance.now() + (isReached ? LIMIT_MS : UNREACHED_LIMIT_MS);
  const stop = new AbortController();
  const lane = await startLaneProcess(services, {
    root,
    signal: AbortSignal.any([signal, stop.signal]),
    live: false,
  });
  let files = 0;
  try {
    for (const { test, ms } of tests) {
      const remaining = ends - performance.now();
      if (remaining <= 0) break;
      const hangsAfter = HANGS_FACTOR * ms + HANGS_MS;
      const timer = setTimeout(() => stop.abort(), Math.min(remaining, hangsAfter));
      const result = await Promise.race([lane.run(test), closedAfter(stop.signal)]);
      clearTimeout(timer);
      signal.throwIfAborted();
      if (stop.signal.aborted && hangsAfter > remaining) break;
      files += 1;
      if (stop.signal.aborted) return { status: 'killed', by: test, reason: 'it hangs', files };
      if ('broken' in result)
        return { status: 'killed', by: test, reason: `its process ended: ${result.broken}`, files };
      const [failure] = result.outcome.failed;
      if (failure) return { status: 'killed', by: test, reason: failure.title, files };
    }
    return { status: isReached ? 'survived' : 'not reached', files, isCutOff: files < tests.length };
  } finally {
    stop.abort();
    // A program that a test has left running may keep the output of its process open.
    await Promise.race([lane.close(), sleep(CLOSE_MS, undefined, { ref: false })]);
  }
}

/** Ends the wait for a process that was told to end, but whose output something else keeps open. */
async function closedAfter(signal: AbortSignal): Promise<{ broken: string }> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await sleep(CLOSE_MS, undefined, { ref: false });
  return { broken: 'it did not end' };
}
