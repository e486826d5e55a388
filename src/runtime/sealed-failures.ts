import { DefaultFailureConverter } from '@temporalio/common';

/*
 * If payloads are encrypted, messages and stacks of failures are encrypted too. Loaded by its path, by workers and
 * into the bundle of the workflows.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
