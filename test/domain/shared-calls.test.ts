import assert from 'node:assert/strict';
import { sharingCalls } from '../../src/domain/common/shared-calls.ts';

describe('shared calls', () => {
  function prepare() {
    const begun: { key: string; end: PromiseWithResolvers<string> }[] = [];
    const read = sharingCalls((key) => {
      const end = Promise.withResolvers<string>();
      begun.push({ key, end });
      return end.promise;
    });
    return { begun, read, keys: () => begun.map(({ key }) => key) };
  }

  it('are one for all who ask while another is in progress, and it begins after they asked', async () => {
    const { begun, read, keys } = prepare();
    const first = read('a');
    const others = [read('a'), read('a'), read('a')];
    assert.deepEqual(keys(), ['a']);
    begun[0]?.end.resolve('early');
    assert.equal(await first, 'early');
    await new Promise(setImmediate);
    assert.deepEqual(keys(), ['a', 'a']);
    const later = read('a');
    begun[1]?.end.resolve('late');
    assert.deepEqual(await Promise.all(others), ['late', 'late', 'late']);
    await new Promise(setImmediate);
    begun[2]?.end.resolve('last');
    assert.equal(await later, 'last');
    assert.deepEqual(keys(), ['a', 'a', 'a']);
  });

  it('are separate for each key, and begin again after an error', async () => {
    const { begun, read, keys } = prepare();
    const failing = assert.rejects(read('a'), /no connection/);
    const [next, other] = [read('a'), read('b')];
    assert.deepEqual(keys(), ['a', 'b']);
    begun[0]?.end.reject(new Error('no connection'));
    await failing;
    await new Promise(setImmediate);
    begun[2]?.end.resolve('a again');
    begun[1]?.end.resolve('b');
    assert.deepEqual(await Promise.all([next, other]), ['a again', 'b']);
  });
});
