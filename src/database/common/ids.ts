import { createHash } from 'node:crypto';

/**
 * A UUID of version 7 whose time is `at` and whose other bits come from `text`: the same again for the same two, so
 * work that is repeated after a crash comes to the same id. `at` is a time, or another UUID of version 7 whose time it
 * takes.
 */
export function derivedUuid(at: Date | string, text: string): string {
  const time =
    typeof at === 'string' ? at.slice(0, 13).replace('-', '') : at.getTime().toString(16).padStart(12, '0');
  const bits = createHash('sha256').update(text).digest('hex');
  const variant = ((Number.parseInt(bits.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${bits.slice(0, 3)}-${variant}${bits.slice(4, 7)}-${bits.slice(7, 19)}`;
}

/**
 * Ids for the steps of a run, one with each call, made of the run's own id and the step's number. Planning that is
 * repeated after a crash comes to the same ids, so what was recorded of a step before stays that step's.
 */
export function stepIdsOf(executionId: string): () => string {
  let number = 0;
  return () => {
    number += 1;
    return derivedUuid(executionId, `${executionId}:step:${number}`);
  };
}
