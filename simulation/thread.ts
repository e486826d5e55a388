import { parentPort } from 'node:worker_threads';
import { replaceModules } from './modules.ts';
import type { KindName, WorldKind } from './kinds.ts';

/*
 * Runs stories for `pool.ts` in a separate thread, in which the clock, the timers and some modules are those of the simulated
 * world.
 */

replaceModules();
// After the modules are replaced.
const { WORLD_KINDS } = await import('./kinds.ts');
const { describeFailure } = await import('./describe-failure.ts');
const { shrink } = await import('./shrink.ts');

/** The result of a seed. `trace` only if it was requested. `failures`: of each kind of worlds, in words. */
export type SeedResult = { seed: number; hash: string; trace: string | null; failures: string[] };
/** What a thread is asked to do: to run a seed in these kinds of worlds. */
export type SeedRequest = { seed: number; kinds: readonly KindName[]; isTraced: boolean };

async function runSeed({ seed, kinds, isTraced }: SeedRequest): Promise<SeedResult> {
  const results = [];
  for (const kind of WORLD_KINDS.filter(({ name }) => kinds.includes(name)))
    results.push(await runWorld(kind, seed));
  return {
    seed,
    hash: results.map(({ hash }) => hash).join(' '),
    trace: isTraced ? results.map(({ trace }) => trace).join('\n') : null,
    failures: results.flatMap(({ failure }) => failure ?? []),
  };
}

async function runWorld(kind: WorldKind, seed: number) {
  const story = kind.create(seed);
  const { violation, trace, hash } = await kind.run(story);
  if (violation === null) return { trace, hash, failure: null };
  const failure = await shrink({ story, violation, trace }, kind.run);
  return { trace, hash, failure: describeFailure(kind, seed, failure) };
}

parentPort?.on('message', (request: SeedRequest) => {
  // A thread has no origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  void runSeed(request).then((result) => parentPort?.postMessage(result));
});
