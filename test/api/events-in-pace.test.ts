import assert from 'node:assert/strict';
import { createPace } from '../../src/api/events/pace.ts';

describe('the pace of groups of events', () => {
  const waits = (requests: number, oldestAt: number, isFull = false) => ({ requests, oldestAt, isFull });

  it('lets a request leave at once at rest', () => {
    const pace = createPace();
    assert.equal(pace.leavesAt(waits(1, 5), 5), 0);
    assert.equal(pace.leavesAt(waits(0, 5), 5), null, 'nobody waits');
  });

  it('keeps groups apart that come one after another', () => {
    const pace = createPace();
    pace.left(1, 100);
    assert.equal(pace.leavesAt(waits(1, 103), 103), 125);
    assert.equal(pace.leavesAt(waits(1, 103), 125), 0);
    pace.done(1, 1, 105);
    assert.equal(pace.leavesAt(waits(1, 103), 105), 0, 'the one before is done');
  });

  it('lets a full group leave at once, but no more than two at a time', () => {
    const pace = createPace();
    for (let group = 0; group < 2; group += 1) {
      assert.equal(pace.leavesAt(waits(100, 0, true), 0), 0);
      pace.left(100, 0);
    }
    assert.equal(pace.leavesAt(waits(100, 0, true), 1_000), null);
    pace.done(100, 100, 1_001);
    assert.equal(pace.leavesAt(waits(100, 0, true), 1_001), 0);
  });

  it('waits for most of a crowd, but only for a moment', () => {
    const pace = createPace();
    pace.left(30, 0);
    assert.equal(pace.leavesAt(waits(20, 5), 20), null, 'fewer than are under way wait for them');
    pace.done(30, 20, 25);
    assert.equal(pace.leavesAt(waits(20, 5), 25), 50);
    assert.equal(pace.leavesAt(waits(44, 5), 30), 50);
    assert.equal(pace.leavesAt(waits(45, 5), 30), 0, 'most of fifty');
    assert.equal(pace.leavesAt(waits(20, 5), 50), 0, 'a moment is over');
  });

  it('expects nobody after a while, and fewer each time that fewer come', () => {
    const pace = createPace();
    pace.left(40, 0);
    pace.done(40, 0, 10);
    assert.equal(pace.leavesAt(waits(1, 59), 59), 84);
    assert.equal(pace.leavesAt(waits(1, 60), 60), 0);
    const shrinking = createPace();
    shrinking.left(40, 0);
    shrinking.done(40, 0, 10);
    shrinking.left(2, 20);
    shrinking.done(2, 0, 25);
    assert.equal(shrinking.leavesAt(waits(17, 26), 26), 51);
    assert.equal(shrinking.leavesAt(waits(18, 26), 26), 0, 'most of twenty');
  });
});
