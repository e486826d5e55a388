import assert from 'node:assert/strict';
import { createCounts } from '../../src/domain/common/counts.ts';

describe('counts by key', () => {
  it('are zero until something is added, and change by key', () => {
    const counts = createCounts();
    assert.equal(counts.of('a'), 0);
    counts.add('a', 2);
    counts.add('b', 5);
    counts.add('a', 1);
    assert.deepEqual([counts.of('a'), counts.of('b')], [3, 5]);
  });

  it('return to zero', () => {
    const counts = createCounts();
    counts.add('a', 2);
    counts.add('a', -2);
    assert.equal(counts.of('a'), 0);
    counts.add('a', 1);
    assert.equal(counts.of('a'), 1);
  });
});
