import { randomBytes } from 'node:crypto';
import { DefaultLogger } from '@temporalio/worker';
import { agentsBundle, workflowBundle } from '../src/runtime/bundle.ts';
import { dataConverterOf } from '../src/runtime/data-converter.ts';
import { parseKeyRing } from '../src/security/key-ring.ts';

/*
 * Makes every bundle of workflows that a process may ask for, so that an image carries them: with payloads in clear and
 * with encrypted ones, with traces and without. Which keys encrypt is no part of a bundle.
 */
const logger = new DefaultLogger('WARN');
const anyKeys = parseKeyRing(`any:${randomBytes(32).toString('base64')}`);
for (const converter of [{}, dataConverterOf(anyKeys)]) {
  for (const traced of [false, true]) {
    await workflowBundle(logger, converter, traced);
    await agentsBundle(logger, converter, traced);
  }
}
