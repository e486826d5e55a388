import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import type { KeyRing } from '../security/key-ring.ts';
import { createPayloadCodec } from '../security/payload-codec.ts';

/**
 * Returns the data converter of Temporal: clear text, or encrypted with these keys. All processes must use the same.
 */
export function dataConverterOf(payloadKeys: KeyRing | null): DataConverter {
  if (payloadKeys === null) return {};
  return {
    payloadCodecs: [createPayloadCodec(payloadKeys)],
    failureConverterPath: fileURLToPath(new URL('./sealed-failures.ts', import.meta.url)),
  };
}
