import assert from 'node:assert/strict';
import {
  countNextGroups,
  groupRequests,
  MAX_DISPATCH_BYTES,
  MAX_DISPATCH_EVENTS,
  placeOfDispatch,
  restAfterDispatch,
} from '../../src/domain/webhooks/dispatch-batches.ts';

describe('requests that are stored together', () => {
  /** Returns the groups of requests with events of these workspaces. */
  const groupsOf = (...requests: string[]) =>
    groupRequests(requests.map((request) => request.split('').map((workspaceId) => ({ workspaceId }))));

  it('share a group if each is of another workspace, or all are of one', () => {
    assert.deepEqual(groupsOf('a', 'b', 'c'), [[0, 1, 2]]);
    assert.deepEqual(groupsOf('a', 'a', 'aa'), [[0, 1, 2]]);
    assert.deepEqual(groupsOf('a'), [[0]]);
  });

  it('have a separate group for each workspace with several events', () => {
    assert.deepEqual(groupsOf('a', 'b', 'a', 'c'), [
      [0, 2],
      [1, 3],
    ]);
    assert.deepEqual(groupsOf('aa', 'b', 'cc', 'd', 'cc'), [[0], [1, 3], [2, 4]]);
  });
});

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

  describe('are followed by a pause', () => {
    const of = (events: number, ...workspaces: string[]) => [{ id: '', events, bytes: 0, workspaces }];
    const restBetween = (last: number, waiting: number) =>
      restAfterDispatch(of(last, 'own'), of(waiting, 'own'));

    it('of 12 to 120 ms that grows with their events, if few others follow', () => {
      const restAfter = (events: number) => restBetween(events, 1);
      assert.deepEqual([1, 5, 10, 48, 1_000].map(restAfter), [12, 60, 120, 120, 120]);
      assert.equal(restAfterDispatch([...of(2, 'own'), ...of(3, 'own')], of(1, 'own')), 60);
      assert.equal(restAfterDispatch(of(500, 'own'), []), 120);
    });

    it('of up to 300 ms if many others follow', () => {
      assert.deepEqual(
        [48, 49, 100, 120, 1_000].map((waiting) => restBetween(1_000, waiting)),
        [120, 122.5, 250, 300, 300],
      );
      assert.deepEqual(
        [1, 48, 100, 1_000].map((last) => restBetween(last, 1_000)),
        [12, 120, 250, 300],
      );
      assert.equal(restAfterDispatch(of(100, 'own'), [...of(40, 'own'), ...of(60, 'own')]), 250);
    });

    it('of at most 120 ms while at most 400 events arrive in a second', () => {
      const afterManyOf = (perSecond: number) => {
        let rest = 12;
        for (let count = 0; count < 100; count += 1) {
          const events = Math.max(1, Math.floor((perSecond * rest) / 1_000));
          rest = restBetween(events, events);
        }
        return rest;
      };
      assert.deepEqual([10, 83, 200, 400].map(afterManyOf), [12, 12, 120, 120]);
      assert.equal(afterManyOf(500), 300);
    });

    it('of at most 120 ms if events of another workspace wait or were among them', () => {
      assert.equal(restAfterDispatch(of(500, 'own'), of(500, 'other')), 120);
      assert.equal(restAfterDispatch(of(500, 'own'), [...of(500, 'own'), ...of(1, 'other')]), 120);
      assert.equal(restAfterDispatch(of(500, 'own'), of(500, 'own', 'other')), 120);
      assert.equal(restAfterDispatch([...of(500, 'own'), ...of(1, 'other')], of(500, 'own')), 120);
      assert.equal(restAfterDispatch(of(3, 'own'), of(1, 'other')), 36);
    });
  });

  describe('are dispatched by the process that accepted them', () => {
    type Own = { attempts?: Record<string, number>; all?: number; elsewhereAt?: Record<string, number> };
    const placeOf = (
      sizes: number[],
      { attempts = {}, all = 0, elsewhereAt = {} }: Own = {},
      workspaces = ['own'],
    ) =>
      placeOfDispatch(groups(...sizes.map((size): [number] => [size])), new Set(workspaces), {
        attempts: (id) => (id === undefined ? all : (attempts[id] ?? 0)),
        elsewhereAt: new Map(Object.entries(elsewhereAt)),
        now: 100_000,
      });

    it('if they have at most 10 events together', () => {
      assert.deepEqual([placeOf([10]), placeOf([11])], ['here', 'elsewhere']);
      assert.deepEqual([placeOf([4, 6]), placeOf([4, 7])], ['here', 'elsewhere']);
    });

    it('while it has fewer than 10 first attempts of their workspaces in progress', () => {
      assert.equal(placeOf([1], { attempts: { own: 9, other: 10 } }), 'here');
      assert.equal(placeOf([1], { attempts: { own: 10 } }), 'elsewhere');
      assert.equal(placeOf([1], { attempts: { other: 10 } }, ['own', 'other']), 'elsewhere');
    });

    it('while it has fewer than 50 first attempts in progress', () => {
      assert.deepEqual([placeOf([1], { all: 49 }), placeOf([1], { all: 50 })], ['here', 'elsewhere']);
    });

    it('if it has left no events of their workspaces to a delivery worker for 5 s', () => {
      const left = (own: number, workspaces?: string[]) =>
        placeOf([1], { elsewhereAt: { own, other: 100_000 } }, workspaces);
      assert.deepEqual([left(95_001), left(95_000)], ['behind', 'here']);
      assert.equal(left(0, ['own', 'other']), 'behind');
    });

    it('unless they are too many, whatever was left to a delivery worker', () => {
      assert.equal(placeOf([11], { elsewhereAt: { own: 99_999 } }), 'elsewhere');
    });
  });
});
