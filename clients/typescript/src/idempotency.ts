import { randomHex } from './ids.ts';
import type { IdempotentOptions } from './types.ts';

/** Returns the headers and the signal of a request that can be retried safely. Default key: a new one for each call. */
export function idempotent({ idempotencyKey = randomHex(), signal }: IdempotentOptions) {
  return { headers: { 'Idempotency-Key': idempotencyKey }, signal };
}
