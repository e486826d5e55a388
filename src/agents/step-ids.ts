import { createHash } from 'node:crypto';

/**
 * Ids for the steps of a run, one with each call: UUIDs of version 7 with the time of the run's own id, their other
 * bits from that id and the step's number. Planning that is repeated after a crash comes to the same ids, so what
 * was recorded of a step before stays that step's.
 */
export function stepIdsOf(executionId: string): () => string {
  let number = 0;
  return () => {
    number += 1;
    const bits = createHash('sha256').update(`${executionId}:step:${number}`).digest('hex');
    const variant = ((Number.parseInt(bits.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
    const time = executionId.slice(0, 13);
    return `${time}-7${bits.slice(0, 3)}-${variant}${bits.slice(4, 7)}-${bits.slice(7, 19)}`;
  };
}
