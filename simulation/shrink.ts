import type { AnyStory } from './kinds.ts';
import type { Violation } from './invariants/guarantees.ts';

/** A story that violates a guarantee, and what it violates. */
export type Failure<Story extends AnyStory = AnyStory> = {
  story: Story;
  violation: Violation;
  trace: string;
};

type Run<Story> = (story: Story) => Promise<{ violation: Violation | null; trace: string }>;

/** Runs that shrinking may take. */
const MOST_RUNS = 400;

/**
 * Removes steps and workers while the same guarantee is still violated: half of them at once, then fewer. Returns the
 * shortest story found.
 */
export async function shrink<Story extends AnyStory>(
  failure: Failure<Story>,
  run: Run<Story>,
): Promise<Failure<Story>> {
  let best = failure;
  let runs = 0;
  const attempt = async (story: Story): Promise<boolean> => {
    runs += 1;
    const { violation, trace } = await run(story);
    if (violation?.guarantee !== failure.violation.guarantee) return false;
    best = { story, violation, trace };
    return true;
  };
  for (let size = best.story.steps.length; size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < best.story.steps.length && runs < MOST_RUNS; ) {
      const steps = best.story.steps.toSpliced(from, size);
      const isShorter = await attempt({ ...best.story, steps });
      // Earlier steps may be unnecessary now.
      if (isShorter && size === 1) from = 0;
      else if (!isShorter) from += size;
    }
  }
  while (best.story.workers > 1 && (await attempt({ ...best.story, workers: best.story.workers - 1 })));
  return best;
}
