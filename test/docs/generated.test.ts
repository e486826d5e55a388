import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { GENERATED } from '../../dev/docs/generated.ts';
import { inCheckout } from '../../dev/common/paths.ts';
import { arePythonTypesCurrent } from '../../dev/types/python-types.ts';

describe('a generated file', () => {
  for (const { path, make } of GENERATED) {
    it(`is up to date: ${path}`, async () => {
      const written = existsSync(inCheckout(path)) ? readFileSync(inCheckout(path), 'utf8') : '';
      assert.ok(written === (await make()), `${path} is out of date: run \`node dev/docs/main.ts\``);
    });
  }

  it('is up to date: the types of the Python client', () => {
    assert.ok(arePythonTypesCurrent(), 'the schemas have changed: run `node dev/types/python-types.ts`');
  });
});
