import assert from 'node:assert/strict';
import { isStorableJson, storableCopy, storableJson, truncate } from '../../src/domain/common/text.ts';

describe('storable JSON', () => {
  it('is the same value if nothing has to change', () => {
    const value = { text: 'ä 😀 \\u12', list: [1, null, true] };
    assert.equal(storableJson(value), value);
  });

  it('has no NUL and no lone surrogate in any string or field name', () => {
    const value = { 'a\u0000': ['b\ud83d', { c: '\udc00d' }], kept: '😀' };
    const stored = storableJson(value);
    assert.deepEqual(stored, { a: ['b\ufffd', { c: '\ufffdd' }], kept: '😀' });
    assert.ok(isStorableJson(stored));
    assert.deepEqual(storableCopy(value), stored);
  });

  it('can be a copy that shares nothing with the value', () => {
    const value = { list: [{ text: 'a' }] };
    const copy = storableCopy(value);
    assert.deepEqual(copy, value);
    assert.notEqual(copy.list[0], value.list[0]);
  });
});

describe('a truncated text', () => {
  it('ends before a character that does not fit completely', () => {
    assert.equal(truncate('ab😀', 3), 'ab');
    assert.equal(truncate('ab😀', 4), 'ab😀');
    assert.equal(truncate('ab', 3), 'ab');
  });
});
