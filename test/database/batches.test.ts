import assert from 'node:assert/strict';
import { makePart, REST, restAfter } from '../../src/database/common/batches.ts';

describe('a part of a large change', () => {
  it('is followed by a rest as long as itself if a request waits, or three times as long, but at most a second', () => {
    assert.equal(restAfter(100, REST.whileRequestWaits), 100);
    assert.equal(restAfter(100, REST.inBackground), 300);
    assert.equal(restAfter(10_000, REST.inBackground), 1_000);
  });

  it('has a result', async () => {
    assert.equal(await makePart(async () => 'made', REST.inBackground), 'made');
  });
});
