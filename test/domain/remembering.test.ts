import assert from 'node:assert/strict';
import { remembering } from '../../src/domain/common/remembering.ts';

describe('a function that remembers its results', () => {
  it('computes each once, also one that counts as false', () => {
    const computed: string[] = [];
    const isLong = remembering((text) => {
      computed.push(text);
      return text.length > 3;
    });
    assert.deepEqual(['long text', 'no', 'no', 'long text'].map(isLong), [true, false, false, true]);
    assert.deepEqual(computed, ['long text', 'no']);
  });

  it('remembers only so many, then forgets all', () => {
    const computed: string[] = [];
    const upper = remembering((text) => {
      computed.push(text);
      return text.toUpperCase();
    }, 2);
    assert.deepEqual(['a', 'b', 'a', 'c', 'c', 'a'].map(upper), ['A', 'B', 'A', 'C', 'C', 'A']);
    assert.deepEqual(computed, ['a', 'b', 'c', 'a']);
  });

  it('remembers nothing of a computation that fails', () => {
    let calls = 0;
    const failing = remembering(() => {
      calls += 1;
      throw new RangeError('no');
    });
    assert.throws(() => failing('a'), RangeError);
    assert.throws(() => failing('a'), RangeError);
    assert.equal(calls, 2);
  });
});
