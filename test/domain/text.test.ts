import assert from 'node:assert/strict';
import { isStorableJson, storableJson, truncate } from '../../src/domain/common/text.ts';

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
  });
});

describe('a truncated text', () => {
  it('ends before a character that does not fit completely', () => {
    assert.equal(truncate('ab😀', 3), 'ab');
    assert.equal(truncate('ab😀', 4), 'ab😀');
    assert.equal(truncate('ab', 3), 'ab');
  });
});
