import { parentPort } from 'node:worker_threads';
import { replaceModules } from './modules.ts';
import type { Failure } from './shrink.ts';

/*
 * Runs stories for `pool.ts` in a separate thread, in which the clock, the timers and two modules are those of the
 * simulated world.
 */

replaceModules();
// After the modules are replaced.
const { runStory } = await import('./world.ts');
const { shrink } = await import('./shrink.ts');
const { createStory } = await import('./story.ts');

/** The result of a seed. `trace` only if it was requested. */
export type SeedResult = { seed: number; hash: string; trace: string | null; failure: Failure | null };

async function runSeed(seed: number, isTraced: boolean): Promise<SeedResult> {
  const story = createStory(seed);
  const { violation, trace, hash } = await runStory(story);
  const failure = violation ? await shrink({ story, violation, trace }, runStory) : null;
  return { seed, hash, trace: isTraced ? trace : null, failure };
}

parentPort?.on('message', ({ seed, isTraced }: { seed: number; isTraced: boolean }) => {
  // A thread has no origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  void runSeed(seed, isTraced).then((result) => parentPort?.postMessage(result));
});
