import { randomBytes } from 'node:crypto';
import { DefaultLogger } from '@temporalio/worker';
import { agentsBundle, workflowBundle } from '../src/runtime/bundle.ts';
import { dataConverterOf } from '../src/runtime/data-converter.ts';
import { parseKeyRing } from '../src/security/key-ring.ts';

/*
 * Builds all workflow bundles for the image: with and without encrypted payloads, with and without traces. Keys are
 * not part of a bundle.
 */
const logger = new DefaultLogger('WARN');
const anyKeys = parseKeyRing(`any:${randomBytes(32).toString('base64')}`);
for (const converter of [{}, dataConverterOf(anyKeys)]) {
  for (const traced of [false, true]) {
    await workflowBundle(logger, converter, traced);
    await agentsBundle(logger, converter, traced);
  }
}
