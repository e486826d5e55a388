import assert from 'node:assert/strict';
import {
  countNextGroups,
  MAX_DISPATCH_BYTES,
  MAX_DISPATCH_EVENTS,
  restAfterDispatch,
} from '../../src/domain/webhooks/dispatch-batches.ts';

describe('groups of events that one workflow dispatches', () => {
  const groups = (...sizes: [events: number, bytes?: number][]) =>
    sizes.map(([events, bytes = 0], index) => ({ id: String(index), events, bytes }));

  for (const [what, given, expected] of [
    ['all that wait', groups([1], [2], [3]), 3],
    ['as many as fit by their events', groups([MAX_DISPATCH_EVENTS - 1], [1], [1]), 2],
    ['as many as fit by their bytes', groups([1, MAX_DISPATCH_BYTES], [1, 1]), 1],
    ['one that is larger than the limit, alone', groups([MAX_DISPATCH_EVENTS + 1], [1]), 1],
    ['one that has more bytes than the limit, alone', groups([1, MAX_DISPATCH_BYTES + 1], [1]), 1],
  ] as const) {
    it(`are ${what}`, () => assert.equal(countNextGroups(given), expected));
  }

  it('follow each other at once where they are small, and at a limited rate under load', () => {
    assert.equal(restAfterDispatch(groups([1])), 12);
    assert.equal(restAfterDispatch(groups([2], [3])), 60);
    assert.equal(restAfterDispatch(groups([10])), 120);
    assert.equal(restAfterDispatch(groups([500], [500])), 120);
  });
});
