import assert from 'node:assert/strict';
import { affectedTests } from '../../dev/tests/affected.ts';
import { selectTests } from '../../dev/tests/selection.ts';

const FILES = {
  fast: ['test/api/submit.test.ts', 'test/cli/task.test.ts', 'test/dev/start.long.ts'],
  long: ['test/cli/clients.long.ts', 'test/faults/kills.long.ts'],
};

describe('test selection by name', () => {
  it('accepts a path, a folder below test/, or a part of a path', () => {
    assert.deepEqual(selectTests('fast', ['./test/cli/task.test.ts'], FILES), ['test/cli/task.test.ts']);
    assert.deepEqual(selectTests('fast', ['test/api/'], FILES), ['test/api/submit.test.ts']);
    assert.deepEqual(selectTests('fast', ['submit', 'start'], FILES), [
      'test/api/submit.test.ts',
      'test/dev/start.long.ts',
    ]);
  });

  it('selects all tests of the suite without arguments, and each file once', () => {
    assert.deepEqual(selectTests('fast', [], FILES), FILES.fast);
    assert.deepEqual(selectTests('long', [], FILES), FILES.long);
    assert.deepEqual(selectTests('fast', ['submit', 'api'], FILES), ['test/api/submit.test.ts']);
  });

  it('finds long tests by name in both suites, fast ones only in the fast suite', () => {
    assert.deepEqual(selectTests('fast', ['cli'], FILES), [
      'test/cli/clients.long.ts',
      'test/cli/task.test.ts',
    ]);
    assert.deepEqual(selectTests('long', ['cli'], FILES), ['test/cli/clients.long.ts']);
  });

  it('lists all test files if an argument matches none', () => {
    assert.throws(
      () => selectTests('fast', ['no-such-thing'], FILES),
      /No test file matches "no-such-thing"\. There are:\n {2}test\/api\/submit/,
    );
  });
});

describe('test selection by changed files', () => {
  const files = new Map([
    ['src/domain/common/limits.ts', 'export const LIMIT = 1;'],
    ['src/api/server.ts', "import { LIMIT } from '../domain/limits.ts';"],
    ['cli/main.ts', ''],
    ['docs/limits.md', 'The limit is in `src/domain/common/limits.ts`.'],
    ['dev/tests/run.ts', "import { select } from './selection.ts';"],
    ['dev/tests/selection.ts', ''],
    ['test/support/lane.ts', ''],
    ['test/support/service.ts', "start('src/api/server.ts')"],
    ['test/api/submit.test.ts', "import { service } from '../support/service.ts';"],
    ['test/cli/task.test.ts', ''],
    ['test/docs/links.test.ts', ''],
    ['test/domain/limits.test.ts', "import { LIMIT } from '../../src/domain/common/limits.ts';"],
    ['test/faults/kills.long.ts', "const program = join(root, 'server.ts');"],
    ['package.json', ''],
  ]);
  const all = [...files.keys()].filter((file) => /\.(test|long)\.ts$/.test(file));

  it('follows imports and program paths, and returns the closest tests first', () => {
    assert.deepEqual(affectedTests(['src/domain/common/limits.ts'], files), [
      'test/domain/limits.test.ts',
      'test/faults/kills.long.ts',
      'test/api/submit.test.ts',
    ]);
    assert.deepEqual(affectedTests(['test/cli/task.test.ts'], files), ['test/cli/task.test.ts']);
  });

  it('selects the test folder of the same name, and test/docs for documents', () => {
    assert.deepEqual(affectedTests(['cli/main.ts'], files), ['test/cli/task.test.ts']);
    assert.deepEqual(affectedTests(['docs/limits.md'], files), ['test/docs/links.test.ts']);
    assert.deepEqual(affectedTests(['README.md'], files), ['test/docs/links.test.ts']);
  });

  it('selects every test if the runner, its settings or the dependencies have changed', () => {
    for (const file of ['package.json', 'dev/tests/selection.ts', 'test/support/lane.ts'])
      assert.deepEqual(affectedTests([file], files).toSorted(), all, file);
  });

  it('selects nothing if nothing has changed', () => {
    assert.deepEqual(affectedTests([], files), []);
  });
});
