import assert from 'node:assert/strict';
import { createBatchingWindow } from '../../src/api/events/batching-window.ts';

describe('the pace of groups of events', () => {
  const waits = (requests: number, oldestAt: number, isFull = false) => ({ requests, oldestAt, isFull });

  it('lets a request leave at once at rest', () => {
    const pace = createBatchingWindow();
    assert.equal(pace.nextDispatchAt(waits(1, 5), 5), 0);
    assert.equal(pace.nextDispatchAt(waits(0, 5), 5), null, 'nobody waits');
  });

  it('keeps groups apart that come one after another', () => {
    const pace = createBatchingWindow();
    pace.dispatched(1, 100);
    assert.equal(pace.nextDispatchAt(waits(1, 103), 103), 105);
    assert.equal(pace.nextDispatchAt(waits(1, 103), 105), 0);
    pace.finished(1, 1, 105);
    assert.equal(pace.nextDispatchAt(waits(1, 103), 105), 0, 'the one before is done');
  });

  it('lets a full group leave at once, but no more than two at a time', () => {
    const pace = createBatchingWindow();
    for (let group = 0; group < 2; group += 1) {
      assert.equal(pace.nextDispatchAt(waits(100, 0, true), 0), 0);
      pace.dispatched(100, 0);
    }
    assert.equal(pace.nextDispatchAt(waits(100, 0, true), 1_000), null);
    pace.finished(100, 100, 1_001);
    assert.equal(pace.nextDispatchAt(waits(100, 0, true), 1_001), 0);
  });

  it('waits for most of a crowd, but only for a moment', () => {
    const pace = createBatchingWindow();
    pace.dispatched(30, 0);
    assert.equal(pace.nextDispatchAt(waits(20, 5), 20), null, 'fewer than are under way wait for them');
    pace.finished(30, 20, 25);
    assert.equal(pace.nextDispatchAt(waits(20, 5), 25), 30);
    assert.equal(pace.nextDispatchAt(waits(44, 5), 26), 30);
    assert.equal(pace.nextDispatchAt(waits(45, 5), 26), 0, 'most of fifty');
    assert.equal(pace.nextDispatchAt(waits(20, 5), 30), 0, 'a moment is over');
  });

  it('expects nobody after a while, and fewer each time that fewer come', () => {
    const pace = createBatchingWindow();
    pace.dispatched(40, 0);
    pace.finished(40, 0, 10);
    assert.equal(pace.nextDispatchAt(waits(1, 59), 59), 64);
    assert.equal(pace.nextDispatchAt(waits(1, 60), 60), 0);
    const shrinking = createBatchingWindow();
    shrinking.dispatched(40, 0);
    shrinking.finished(40, 0, 10);
    shrinking.dispatched(2, 20);
    shrinking.finished(2, 0, 25);
    assert.equal(shrinking.nextDispatchAt(waits(17, 26), 26), 31);
    assert.equal(shrinking.nextDispatchAt(waits(18, 26), 26), 0, 'most of twenty');
  });
});
