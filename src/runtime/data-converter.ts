import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import type { KeyRing } from '../security/key-ring.ts';
import { createPayloadCodec } from '../security/payload-codec.ts';

/** How values go to Temporal: in clear, or closed with these keys. All processes must have the same. */
export function dataConverterOf(payloadKeys: KeyRing | null): DataConverter {
  if (payloadKeys === null) return {};
  return {
    payloadCodecs: [createPayloadCodec(payloadKeys)],
    failureConverterPath: fileURLToPath(new URL('./sealed-failures.ts', import.meta.url)),
  };
}
