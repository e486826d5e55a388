import assert from 'node:assert/strict';
import { createFeedReader } from '../../src/gateway/feed-reader.ts';
import { eventually } from '../support/eventually.ts';

describe('the reader of feeds', () => {
  it('repeats a failed read for all of its runs', async () => {
    const read: string[] = [];
    const errors: unknown[] = [];
    const reader = createFeedReader({
      size: { runs: 10, events: 5 },
      positionsOf: (executionId) => [{ executionId, after: 0 }],
      async read(positions) {
        if (errors.length === 0) throw new Error('the database is unavailable');
        return positions.map(() => []);
      },
      onRead: ({ executionId }) => void read.push(executionId),
      onError: (error) => void errors.push(error),
    });
    try {
      reader.request('one');
      reader.request('other');
      await eventually('both are read', () => read.includes('one') && read.includes('other'));
      assert.equal(errors.length, 1);
    } finally {
      reader.close();
    }
  });
});
