import assert from 'node:assert/strict';
import { selectTests } from '../../dev/test-selection.ts';
import { checkout } from '../../dev/paths.ts';

describe('choosing tests by name', () => {
  it('takes a folder below test/, a part of a file name, or a path', () => {
    const itself = 'test/dev/test-selection.test.ts';
    assert.ok(selectTests(['dev'], checkout).includes(itself));
    assert.deepEqual(selectTests(['test-selection'], checkout), [itself]);
    assert.deepEqual(selectTests([`./${itself}`], checkout), [itself]);
  });

  it('takes all without a word, and passes options on with their values', () => {
    const words = selectTests(['-g', 'a sentence', '--bail'], checkout);
    assert.deepEqual(words.slice(0, 3), ['-g', 'a sentence', '--bail']);
    assert.ok(words.length > 3);
  });

  it('says which tests there are when a word fits none', () => {
    assert.throws(
      () => selectTests(['no-such-thing'], checkout),
      /No test is called no-such-thing. There are: test/,
    );
  });
});
