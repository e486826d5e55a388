import { randomBytes } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import { agentsBundle, workflowBundle } from '../src/runtime/bundle.ts';
import { dataConverterOf } from '../src/runtime/data-converter.ts';
import { withoutTypes } from '../src/runtime/strip-types.mjs';
import { parseKeyRing } from '../src/security/key-ring.ts';

/*
 * Prepares the code of the image: removes the types of all TypeScript into the folder of its only argument, and builds all workflow
 * bundles: with and without encrypted payloads, with and without traces. Keys are not part of a bundle.
 */
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name the folder of the code without types.');
const root = join(import.meta.dirname, '..');
for (const file of globSync('{src,workers,cli}/**/*.ts', { cwd: root }))
  withoutTypes(readFileSync(join(root, file), 'utf8'), folder);

const logger = new DefaultLogger('WARN');
const anyKeys = parseKeyRing(`any:${randomBytes(32).toString('base64')}`);
for (const converter of [{}, dataConverterOf(anyKeys)]) {
  for (const traced of [false, true]) {
    await workflowBundle(logger, converter, traced);
    await agentsBundle(logger, converter, traced);
  }
}
