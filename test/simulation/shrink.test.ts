import assert from 'node:assert/strict';
import { shrink } from '../../simulation/shrink.ts';
import { createStory, type Story } from '../../simulation/story.ts';

/** A violation, if the story still has the crash and what it needs. */
function violationOf({ steps }: Story) {
  const crash = steps.findIndex(({ kind }) => kind === 'crash');
  const isViolated = crash >= 0 && steps.slice(0, crash).some(({ kind }) => kind === 'events');
  return isViolated ? ({ guarantee: 'log', what: 'a test', at: 0 } as const) : null;
}

describe('a story that violates a guarantee', () => {
  it('is shortened to the steps that the violation needs', async () => {
    for (let seed = 1, shrunk = 0; shrunk < 20; seed += 1) {
      const story = createStory(seed);
      const violation = violationOf(story);
      if (!violation) continue;
      shrunk += 1;
      const shortest = await shrink({ story, violation, trace: '' }, async (shorter) => ({
        violation: violationOf(shorter),
        trace: 'the shorter one',
      }));
      assert.deepEqual(
        shortest.story.steps.map(({ kind }) => kind),
        ['events', 'crash'],
      );
      assert.equal(shortest.story.workers, 1);
    }
  });

  it('keeps a step without which another guarantee is violated', async () => {
    const story = createStory(1);
    const violation = { guarantee: 'log', what: 'a test', at: 0 } as const;
    const shortest = await shrink({ story, violation, trace: '' }, async ({ steps }) => ({
      violation: { ...violation, guarantee: steps.length < 2 ? 'held' : 'log' },
      trace: '',
    }));
    assert.equal(shortest.story.steps.length, 2);
  });
});
