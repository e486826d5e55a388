import assert from 'node:assert/strict';
import type { AgedEvent } from '../../src/database/tasks/feed.ts';
import { createFeedReader } from '../../src/gateway/feed-reader.ts';
import { eventually } from '../support/eventually.ts';

/** Creates a reader of feeds that have `found` events each. `reads` are the runs of each read, `wholes` of each run. */
function setUp({ size = { runs: 10, events: 5 }, found = 0 } = {}) {
  const reads: string[][] = [];
  const wholes = new Map<string, boolean>();
  const errors: unknown[] = [];
  const state = { reads, wholes, errors, beforeRead: Promise.resolve() };
  const reader = createFeedReader({
    size,
    positionsOf: (executionId) => [{ executionId, after: 0 }],
    async read(positions) {
      reads.push(positions.map(({ executionId }) => executionId));
      await state.beforeRead;
      return positions.map(() => Array.from({ length: found }, () => ({}) as AgedEvent));
    },
    onRead: ({ executionId }, _, isWhole) => void wholes.set(executionId, isWhole),
    onError: (error) => void errors.push(error),
  });
  return { reader, state };
}

describe('the reader of feeds', () => {
  it('repeats a failed read for all of its runs', async () => {
    const { reader, state } = setUp();
    try {
      state.beforeRead = Promise.reject(new Error('the database is unavailable'));
      reader.request('one');
      reader.request('other');
      await eventually('it fails', () => state.errors.length === 1);
      state.beforeRead = Promise.resolve();
      await eventually('both are read', () => state.wholes.has('one') && state.wholes.has('other'));
      assert.equal(state.errors.length, 1);
    } finally {
      reader.close();
    }
  });

  it('reads a run again that is requested during its read', async () => {
    const { reader, state } = setUp();
    const gate = Promise.withResolvers<void>();
    state.beforeRead = gate.promise;
    reader.request('one');
    reader.request('one');
    gate.resolve();
    await eventually('it is read again', () => state.reads.length === 2);
    reader.close();
  });

  it('reads the runs of a batch at most at once, and the others afterwards', async () => {
    const { reader, state } = setUp({ size: { runs: 2, events: 5 } });
    const gate = Promise.withResolvers<void>();
    state.beforeRead = gate.promise;
    for (const id of ['a', 'b', 'c', 'd', 'e']) reader.request(id);
    gate.resolve();
    await eventually('all are read', () => state.wholes.size === 5);
    assert.deepEqual(state.reads, [['a'], ['b', 'c'], ['d', 'e']]);
    reader.close();
  });

  it('takes as many events as it asked for as a sign of more', async () => {
    for (const [found, isWhole] of [
      [4, true],
      [5, false],
    ] as const) {
      const { reader, state } = setUp({ found });
      reader.request('one');
      await eventually('it is read', () => state.wholes.has('one'));
      assert.equal(state.wholes.get('one'), isWhole, `${found} events`);
      reader.close();
    }
  });

  it('reports nothing once it is closed', async () => {
    const { reader, state } = setUp();
    const gate = Promise.withResolvers<void>();
    state.beforeRead = gate.promise;
    reader.request('one');
    reader.request('other');
    reader.close();
    reader.request('late');
    gate.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([state.reads, state.wholes.size, state.errors], [[['one']], 0, []]);
  });
});
