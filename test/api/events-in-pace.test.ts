import assert from 'node:assert/strict';
import { createBatchingWindow } from '../../src/api/events/batching-window.ts';

describe('the batching window of events', () => {
  const waits = (requests: number, oldestAt: number, isFull = false) => ({ requests, oldestAt, isFull });

  it('dispatches a request immediately when idle', () => {
    const batching = createBatchingWindow();
    assert.equal(batching.nextDispatchAt(waits(1, 5), 5), 0);
    assert.equal(batching.nextDispatchAt(waits(0, 5), 5), null, 'no request waits');
  });

  it('delays a group that follows another one', () => {
    const batching = createBatchingWindow();
    batching.dispatched(1, 100);
    assert.equal(batching.nextDispatchAt(waits(1, 103), 103), 105);
    assert.equal(batching.nextDispatchAt(waits(1, 103), 105), 0);
    batching.finished(1, 1, 105);
    assert.equal(batching.nextDispatchAt(waits(1, 103), 105), 0, 'the previous group has finished');
  });

  it('dispatches full groups immediately, but at most two at a time', () => {
    const batching = createBatchingWindow();
    for (let group = 0; group < 2; group += 1) {
      assert.equal(batching.nextDispatchAt(waits(100, 0, true), 0), 0);
      batching.dispatched(100, 0);
    }
    assert.equal(batching.nextDispatchAt(waits(100, 0, true), 1_000), null);
    batching.finished(100, 100, 1_001);
    assert.equal(batching.nextDispatchAt(waits(100, 0, true), 1_001), 0);
  });

  it('waits for most of the expected requests, but only briefly', () => {
    const batching = createBatchingWindow();
    batching.dispatched(30, 0);
    assert.equal(batching.nextDispatchAt(waits(20, 5), 20), null, 'fewer requests wait than are in flight');
    batching.finished(30, 20, 25);
    assert.equal(batching.nextDispatchAt(waits(20, 5), 25), 30);
    assert.equal(batching.nextDispatchAt(waits(44, 5), 26), 30);
    assert.equal(batching.nextDispatchAt(waits(45, 5), 26), 0, 'most of 50 requests wait');
    assert.equal(batching.nextDispatchAt(waits(20, 5), 30), 0, 'the window is over');
  });

  it('expects as many requests as waited and were in flight, from eight on', () => {
    const after = (inFlight: number, waiting: number) => {
      const batching = createBatchingWindow();
      batching.dispatched(inFlight, 0);
      batching.finished(inFlight, waiting, 10);
      return (requests: number) => batching.nextDispatchAt(waits(requests, 11), 11);
    };
    assert.deepEqual([after(6, 1)(5), after(6, 1)(6)], [16, 0], 'most of 6');
    assert.deepEqual([after(6, 2)(7), after(6, 2)(8)], [16, 0], 'most of 8');
  });

  it('expects no requests after a while, and fewer after smaller groups', () => {
    const batching = createBatchingWindow();
    batching.dispatched(40, 0);
    batching.finished(40, 0, 10);
    assert.equal(batching.nextDispatchAt(waits(1, 59), 59), 64);
    assert.equal(batching.nextDispatchAt(waits(1, 60), 60), 0);
    const shrinking = createBatchingWindow();
    shrinking.dispatched(40, 0);
    shrinking.finished(40, 0, 10);
    shrinking.dispatched(2, 20);
    shrinking.finished(2, 0, 25);
    assert.equal(shrinking.nextDispatchAt(waits(17, 26), 26), 31);
    assert.equal(shrinking.nextDispatchAt(waits(18, 26), 26), 0, 'most of 20 requests wait');
  });
});
