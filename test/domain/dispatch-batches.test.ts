import assert from 'node:assert/strict';
import {
  countNextGroups,
  isDispatchedHere,
  MAX_DISPATCH_BYTES,
  MAX_DISPATCH_EVENTS,
  type OwnDispatches,
  restAfterDispatch,
} from '../../src/domain/webhooks/dispatch-batches.ts';

describe('the groups that one workflow dispatches', () => {
  const groups = (...sizes: [events: number, bytes?: number][]) =>
    sizes.map(([events, bytes = 0], index) => ({ id: String(index), events, bytes }));

  for (const [what, given, expected] of [
    ['all waiting groups', groups([1], [2], [3]), 3],
    ['as many groups as fit the limit of events', groups([MAX_DISPATCH_EVENTS - 1], [1], [1]), 2],
    ['as many groups as fit the limit of bytes', groups([1, MAX_DISPATCH_BYTES], [1, 1]), 1],
    ['groups of exactly the limit of bytes', groups([1, MAX_DISPATCH_BYTES - 1], [1, 1], [1, 1]), 2],
    ['only the first group if it exceeds the limit of events', groups([MAX_DISPATCH_EVENTS + 1], [1]), 1],
    ['only the first group if it exceeds the limit of bytes', groups([1, MAX_DISPATCH_BYTES + 1], [1]), 1],
  ] as const) {
    it(`include ${what}`, () => assert.equal(countNextGroups(given), expected));
  }

  it('have at most 500 events and 4 MiB', () => {
    assert.deepEqual([MAX_DISPATCH_EVENTS, MAX_DISPATCH_BYTES], [500, 4_194_304]);
  });

  it('are followed by a pause of 12 to 120 ms that grows with their events', () => {
    assert.equal(restAfterDispatch(groups([1])), 12);
    assert.equal(restAfterDispatch(groups([2], [3])), 60);
    assert.equal(restAfterDispatch(groups([10])), 120);
    assert.equal(restAfterDispatch(groups([500], [500])), 120);
  });

  describe('are dispatched by the process that accepted them', () => {
    const isHere = (sizes: number[], own: Partial<OwnDispatches> = {}) =>
      isDispatchedHere(groups(...sizes.map((size): [number] => [size])), {
        attempts: 0,
        elsewhereAt: Number.NEGATIVE_INFINITY,
        now: 100_000,
        ...own,
      });

    it('if they have at most 10 events together', () => {
      assert.deepEqual([isHere([10]), isHere([11])], [true, false]);
      assert.deepEqual([isHere([4, 6]), isHere([4, 7])], [true, false]);
    });

    it('while it has fewer than 10 first attempts in progress', () => {
      assert.deepEqual([isHere([1], { attempts: 9 }), isHere([1], { attempts: 10 })], [true, false]);
    });

    it('if it has left nothing to a delivery worker for 5 s', () => {
      assert.deepEqual(
        [isHere([1], { elsewhereAt: 95_001 }), isHere([1], { elsewhereAt: 95_000 })],
        [false, true],
      );
    });
  });
});
