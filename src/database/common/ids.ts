import { createHash } from 'node:crypto';

/**
 * Returns a UUID of version 7 with the time `at` and its other bits derived from `text`. The same input gives the same
 * id, so that repeated work after a crash uses the same ids. `at` is a time, or a UUID of version 7 whose time is used.
 */
export function derivedUuid(at: Date | string, text: string): string {
  const time =
    typeof at === 'string' ? at.slice(0, 13).replace('-', '') : at.getTime().toString(16).padStart(12, '0');
  const bits = createHash('sha256').update(text).digest('hex');
  const variant = ((Number.parseInt(bits.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${bits.slice(0, 3)}-${variant}${bits.slice(4, 7)}-${bits.slice(7, 19)}`;
}

/**
 * Returns a function that returns the ids of a run's steps in order, derived from the run's id and the step's number.
 * Planning that is repeated after a crash gets the same ids, so that recorded data still belongs to its steps.
 */
export function stepIdsOf(executionId: string): () => string {
  let number = 0;
  return () => {
    number += 1;
    return derivedUuid(executionId, `${executionId}:step:${number}`);
  };
}
