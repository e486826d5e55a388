import assert from 'node:assert/strict';
import { placeOf, sumSelfTimes, type CpuProfile } from '../../bench/support/profiles.ts';
import { inCheckout } from '../../dev/common/paths.ts';

const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 9 });
const own = `file://${inCheckout('src', 'database', 'tasks', 'feed.ts')}`;

describe('the summary of a CPU profile', () => {
  const profile: CpuProfile = {
    startTime: 1_000,
    nodes: [
      { id: 1, callFrame: frame('(idle)') },
      { id: 2, callFrame: frame('recordChange', own) },
      { id: 3, callFrame: frame('query', 'file:///x/node_modules/pg/lib/client.js') },
    ],
    samples: [3, 2, 1, 2, 3],
    timeDeltas: [0, 5_000, 1_000, 10_000, 3_000],
  };

  it('counts each sample until the next one, without idle time', () => {
    const { busyMs, byPlace, byFunction } = sumSelfTimes([profile]);
    assert.equal(busyMs, 9);
    assert.deepEqual(byPlace, [
      ['pg', 5],
      ['src/database', 4],
    ]);
    assert.deepEqual(byFunction[1], ['recordChange  src/database/tasks/feed.ts:10', 4]);
  });

  it('omits samples before the load', () => {
    assert.deepEqual(sumSelfTimes([profile], 10_000).byPlace, [['src/database', 3]]);
  });

  it('adds the threads of a process', () => {
    assert.equal(sumSelfTimes([profile, profile]).busyMs, 18);
  });
});

describe('the place of a function', () => {
  const CASES: [url: string, name: string, place: string][] = [
    ['file:///x/node_modules/@temporalio/worker/lib/worker.js', 'f', '@temporalio/worker'],
    ['file:///x/node_modules/a/node_modules/b/index.js', 'f', 'b'],
    ['node:internal/streams/writable', 'f', 'node:internal/streams'],
    ['', '(garbage collector)', '(garbage collector)'],
    ['', 'writev', '(native)'],
    [own, 'f', 'src/database'],
  ];
  for (const [url, name, place] of CASES) {
    it(`is ${place} for ${url || name}`, () => assert.equal(placeOf(url, name), place));
  }
});
