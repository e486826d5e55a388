import { Worker } from 'node:worker_threads';
import type { KindName } from './kinds.ts';
import type { SeedRequest, SeedResult } from './thread.ts';

type Options = {
  from: number;
  count: number;
  threads: number;
  kinds: readonly KindName[];
  isTraced: boolean;
};

/**
 * Runs seeds in threads, one at a time in each, and calls `onResult` for each in the order of the seeds.
 * @throws what a thread throws
 */
export async function runSeeds(
  { from, count, threads, kinds, isTraced }: Options,
  onResult: (result: SeedResult) => void,
): Promise<void> {
  const early = new Map<number, SeedResult>();
  let next = from;
  let due = from;

  function take(result: SeedResult): void {
    early.set(result.seed, result);
    for (let one = early.get(due); one; one = early.get(due)) {
      early.delete(due);
      due += 1;
      onResult(one);
    }
  }

  async function runThread(): Promise<void> {
    const thread = new Worker(new URL('./thread.ts', import.meta.url));
    const { promise: failed, reject } = Promise.withResolvers<never>();
    thread.once('error', reject);
    failed.catch(() => {});
    try {
      while (next < from + count) {
        const seed = next;
        next += 1;
        const answered = new Promise<SeedResult>((resolve) => thread.once('message', resolve));
        // A thread has no origin.
        // oxlint-disable-next-line unicorn/require-post-message-target-origin
        thread.postMessage({ seed, kinds, isTraced } satisfies SeedRequest);
        take(await Promise.race([answered, failed]));
      }
    } finally {
      await thread.terminate();
    }
  }

  await Promise.all(Array.from({ length: Math.min(threads, count) }, runThread));
}
