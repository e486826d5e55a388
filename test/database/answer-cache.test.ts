import assert from 'node:assert/strict';
import { createAnswerCache } from '../../src/database/common/answer-cache.ts';

describe('the answer cache', () => {
  let nowMs: number;
  let queries: number;
  beforeEach(() => {
    nowMs = 1_000;
    queries = 0;
  });

  /** The time to live of an answer, in milliseconds, is its length. */
  const createCache = () =>
    createAnswerCache<string>(
      ({ length }) => length,
      () => nowMs,
    );
  const queryReturning = (answer: string) => async () => {
    queries += 1;
    return answer;
  };

  it('returns an answer until its time to live is over', async () => {
    const { find } = createCache();
    assert.equal(await find('a', queryReturning('12345')), '12345');
    nowMs += 4;
    assert.equal(await find('a', queryReturning('123')), '12345');
    nowMs += 1;
    assert.equal(await find('a', queryReturning('123')), '123');
    nowMs += 3;
    assert.equal(await find('a', queryReturning('')), '');
    assert.equal(
      await find('a', queryReturning('1')),
      '1',
      'an answer with a time to live of 0 is not cached',
    );
    assert.equal(queries, 4);
  });

  it('runs one query for simultaneous requests with the same key', async () => {
    const { find } = createCache();
    const same = await Promise.all([
      find('a', queryReturning('')),
      find('a', queryReturning('')),
      find('b', queryReturning('')),
    ]);
    assert.deepEqual(same, ['', '', '']);
    assert.equal(queries, 2);
    await find('a', queryReturning(''));
    assert.equal(queries, 3);
  });

  it('rejects all waiting requests if the query fails, and then queries again', async () => {
    const { find } = createCache();
    const failing = async () => {
      throw new Error('the database is unavailable');
    };
    const both = await Promise.allSettled([find('a', failing), find('a', failing)]);
    assert.deepEqual(
      both.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.equal(await find('a', queryReturning('1')), '1');
  });

  it('keeps 1,000 answers, and removes the oldest first', async () => {
    const { find } = createCache();
    for (let n = 0; n < 1_001; n += 1) await find(`${n}`, queryReturning('12345'));
    assert.equal(queries, 1_001);
    await find('1000', queryReturning(''));
    await find('1', queryReturning(''));
    assert.equal(queries, 1_001);
    await find('0', queryReturning(''));
    assert.equal(queries, 1_002);
  });
});
