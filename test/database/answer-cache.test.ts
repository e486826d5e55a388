import assert from 'node:assert/strict';
import { createAnswerCache } from '../../src/database/common/answer-cache.ts';

describe('answers that are kept', () => {
  let nowMs: number;
  let looks: number;
  beforeEach(() => {
    nowMs = 1_000;
    looks = 0;
  });

  /** An answer of so many letters serves for so many milliseconds. */
  const answers = () =>
    createAnswerCache<string>(
      ({ length }) => length,
      () => nowMs,
    );
  const answering = (answer: string) => async () => {
    looks += 1;
    return answer;
  };

  it('serve for as long as they say, no longer', async () => {
    const { find } = answers();
    assert.equal(await find('a', answering('12345')), '12345');
    nowMs += 4;
    assert.equal(await find('a', answering('123')), '12345');
    nowMs += 1;
    assert.equal(await find('a', answering('123')), '123');
    nowMs += 3;
    assert.equal(await find('a', answering('')), '');
    assert.equal(await find('a', answering('1')), '1', 'what is not worth it is found anew');
    assert.equal(looks, 4);
  });

  it('are found once for all who ask meanwhile, and apart for each question', async () => {
    const { find } = answers();
    const same = await Promise.all([
      find('a', answering('')),
      find('a', answering('')),
      find('b', answering('')),
    ]);
    assert.deepEqual(same, ['', '', '']);
    assert.equal(looks, 2);
    await find('a', answering(''));
    assert.equal(looks, 3);
  });

  it('that could not be found fail for all who waited, and are looked for again', async () => {
    const { find } = answers();
    const failing = async () => {
      throw new Error('the database is away');
    };
    const both = await Promise.allSettled([find('a', failing), find('a', failing)]);
    assert.deepEqual(
      both.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.equal(await find('a', answering('1')), '1');
  });

  it('make room for a thousand questions, the oldest first', async () => {
    const { find } = answers();
    for (let n = 0; n < 1_001; n += 1) await find(`${n}`, answering('12345'));
    assert.equal(looks, 1_001);
    await find('1000', answering(''));
    await find('1', answering(''));
    assert.equal(looks, 1_001);
    await find('0', answering(''));
    assert.equal(looks, 1_002);
  });
});
