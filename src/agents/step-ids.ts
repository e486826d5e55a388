import { derivedUuid } from '../ids/derived-uuid.ts';

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
