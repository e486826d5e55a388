import assert from 'node:assert/strict';
import { planStory, SHORT_MINUTES } from '../../faults/plan.ts';
import { brokenLines, tableOf } from '../../faults/report.ts';
import { playStory } from '../../faults/story.ts';

const SEED = 7;

describe('a service whose every part is killed, frozen, restarted or cut off under load', function () {
  this.timeout(15 * 60_000);

  it('loses nothing, does nothing twice, and keeps to every limit', async () => {
    const report = await playStory(planStory(SEED, SHORT_MINUTES), () => {});
    console.log(tableOf(report).replaceAll(/^/gm, '    '));
    assert.deepEqual(
      brokenLines(report.lines).map(({ name, count, examples }) => ({ name, count, examples })),
      [],
    );
  });
});
