import { storeAnswerWithChange } from '../../database/common/idempotency-claims.ts';
import type { WithChange } from '../../database/database.ts';
import type { Sealing } from '../../security/sealing.ts';
import { inProgress, sealedAnswer } from './idempotency.ts';
import type { Claim, RouteResponse } from './route.ts';

/**
 * Returns the work that stores the first response of a claimed request in the transaction of its change; undefined without
 * a claim. A repeat then gets this response even if the process dies right after the transaction. `answerOf` returns the
 * response for the changed row.
 */
export function answerWithChange<Row>(
  { sealing }: { sealing: Sealing },
  claim: Claim | null,
  answerOf: (row: Row) => RouteResponse,
): WithChange<Row> | undefined {
  if (claim === null) return undefined;
  return async (em, row) => {
    const sealed = sealedAnswer(sealing, claim, answerOf(row));
    // Another request replaced this one, which took too long. Only the other one may make the change.
    if (!(await storeAnswerWithChange(em, claim, sealed))) throw inProgress();
  };
}
