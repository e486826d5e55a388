import { randomBytes } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import { agentsBundle, workflowBundle } from '../src/runtime/bundle.ts';
import { dataConverterOf } from '../src/runtime/data-converter.ts';
import { withoutTypes } from '../src/runtime/load-code.mjs';
import { parseKeyRing } from '../src/security/key-ring.ts';

/*
 * Prepares the code of the image, with `load-code.mjs` loaded: fills the folder of BATON_CODE_CACHE with all TypeScript and with the
 * packages that the processes load, and builds all workflow bundles: with and without encrypted payloads, with and without traces.
 * Keys are not part of a bundle.
 */
const folder = process.env['BATON_CODE_CACHE'];
if (folder === undefined) throw new Error('Name the folder of the code in BATON_CODE_CACHE.');
const root = join(import.meta.dirname, '..');
for (const file of globSync('{src,workers,cli}/**/*.ts', { cwd: root }))
  withoutTypes(readFileSync(join(root, file), 'utf8'), folder);
/** The processes, and what they load later, if agents have models or tools. */
const LOADED = '{src/{api,gateway}/server,workers/*-worker,src/runtime/agent-{models,tools}}.ts';
for (const file of globSync(LOADED, { cwd: root })) await import(join(root, file));

const logger = new DefaultLogger('WARN');
const anyKeys = parseKeyRing(`any:${randomBytes(32).toString('base64')}`);
for (const converter of [{}, dataConverterOf(anyKeys)]) {
  for (const traced of [false, true]) {
    await Promise.all([workflowBundle(logger, converter, traced), agentsBundle(logger, converter, traced)]);
  }
}
