import { createRunStory, type RunStory } from './runs/story.ts';
import { runRunStory } from './runs/world.ts';
import { createStory, type Story } from './story.ts';
import { runStory } from './world.ts';
import type { Outcome } from './world/tell-story.ts';

/** The part of a story that shrinking changes. */
export type AnyStory = { workers: number; steps: readonly { at: number; kind: string }[] };

/** A kind of worlds: how a seed becomes a story, how it is run, and what it says besides its steps. */
export type WorldKind<S extends AnyStory = AnyStory> = {
  name: KindName;
  create(seed: number): S;
  run(story: S): Promise<Outcome>;
  describe(story: S): string[];
};

export type KindName = 'deliveries' | 'runs';

const deliveries: WorldKind<Story> = {
  name: 'deliveries',
  create: createStory,
  run: runStory,
  describe: ({ workers, limits, webhooks }) => [
    `${workers} workers, limits ${JSON.stringify(limits)}`,
    ...webhooks.map(({ workspace, mode }, index) => `  webhook ${index}: workspace ${workspace}, ${mode}`),
  ],
};

const runs: WorldKind<RunStory> = {
  name: 'runs',
  create: createRunStory,
  run: runRunStory,
  describe: ({ workers, historyEvents, receivers }) => [
    `${workers} workers, continues after ${historyEvents ?? 4_000} events`,
    ...receivers.map((mode, index) => `  receiver ${index}: ${mode}`),
  ],
};

/** All kinds of worlds. A story is only given to its own kind. */
export const WORLD_KINDS = [deliveries, runs] as unknown as readonly WorldKind[];
