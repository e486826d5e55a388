import { randomHex } from './ids.ts';
import type { IdempotentOptions } from './types.ts';

/** The key under which a request may be sent again without having its effect twice; each call has one of its own. */
export function idempotent({ idempotencyKey = randomHex(), signal }: IdempotentOptions) {
  return { headers: { 'Idempotency-Key': idempotencyKey }, signal };
}
