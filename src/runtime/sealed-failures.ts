import { DefaultFailureConverter } from '@temporalio/common';

/*
 * Where payloads are encrypted, messages and stacks of failures go the same way: as a payload, and not in clear beside
 * one. Loaded by its path, by workers and into the bundle of the workflows.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
