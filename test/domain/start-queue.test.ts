import assert from 'node:assert/strict';
import { createStartQueue } from '../../src/domain/common/start-queue.ts';

describe('a queue of stored work', () => {
  it('returns batches in order, each a pause after the last one', () => {
    const queue = createStartQueue<string>({ batch: 2, restMs: 50 });
    assert.deepEqual([queue.size, queue.take(0)], [0, null]);
    for (const item of ['a', 'b', 'c']) queue.add(item);
    assert.equal(queue.size, 3);
    assert.deepEqual(queue.take(1_000), ['a', 'b']);
    assert.equal(queue.size, 1);
    assert.equal(queue.take(1_000), 1_050);
    assert.equal(queue.take(1_049), 1_050);
    assert.deepEqual(queue.take(1_050), ['c']);
    assert.equal(queue.take(1_051), null, 'nothing waits, so nothing is due');
  });

  it('forgets what waits', () => {
    const queue = createStartQueue<string>({ batch: 2, restMs: 0 });
    queue.add('a');
    queue.clear();
    assert.deepEqual([queue.size, queue.take(0)], [0, null]);
  });
});
