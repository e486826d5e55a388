import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import { checkout } from '../../dev/common/paths.ts';
import { agentsBundle, workflowBundle } from '../../src/runtime/bundle.ts';

/** A module of a bundle, by its path. */
const MODULE = /^"(\.\/src\/[^"]+)"/gm;
/** Only the bundles of installations that collect traces contain it. */
const TRACED = './src/workflows/trace-interceptors.ts';
/** A variable of a module that can be assigned, or a collection that can be filled. */
const STATE = /^(?:export )?(?:(?:let|var)\b.*|const \w+[^=]*= new (?:Map|Set|WeakMap|WeakSet|Array)\b.*)/gm;

/*
 * All workflows of a worker share the modules of their code. A variable of a module would pass something from one workflow
 * to another.
 */
describe('the code of workflows', function () {
  this.timeout(60_000);

  for (const [name, bundled] of Object.entries({ workflows: workflowBundle, agents: agentsBundle })) {
    it(`has no variables in its modules: ${name}`, async () => {
      const { codePath } = await bundled(new DefaultLogger('ERROR'));
      const modules = [...readFileSync(codePath, 'utf8').matchAll(MODULE)].map(([, path = '']) => path);
      assert.ok(modules.length > 15, String(modules));
      const found = [...modules, TRACED].flatMap((path) =>
        [...readFileSync(join(checkout, path), 'utf8').matchAll(STATE)].map(([line]) => `${path}: ${line}`),
      );
      assert.deepEqual(found, []);
    });
  }

  it('is searched for what counts as a variable', () => {
    const text = 'let count = 0;\nexport const seen = new Set<string>();\nconst LIMIT = 3;\n  let inner;\n';
    assert.deepEqual(
      [...text.matchAll(STATE)].map(([line]) => line),
      ['let count = 0;', 'export const seen = new Set<string>();'],
    );
  });
});
