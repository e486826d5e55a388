import assert from 'node:assert/strict';
import { countCalls } from '../../src/runtime/count-calls.ts';

describe('calls that are counted', () => {
  it('count until they end, also with an error', async () => {
    const end = Promise.withResolvers<string>();
    const { call, inProgress } = countCalls((fails: boolean) =>
      fails ? Promise.reject(new Error('no')) : end.promise,
    );
    const first = call(false);
    const second = call(true);
    assert.equal(inProgress(), 2);
    await assert.rejects(second, /no/);
    assert.equal(inProgress(), 1);
    end.resolve('done');
    assert.equal(await first, 'done');
    assert.equal(inProgress(), 0);
  });
});
