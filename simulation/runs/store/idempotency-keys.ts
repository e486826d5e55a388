import type { IdempotencyKeys } from '../../../src/database/tasks/idempotency.ts';
import {
  abandonedBefore,
  outcomeOfClaim,
  outdatedBefore,
  type Claim,
  type ClaimOutcome,
  type ClaimRequest,
} from '../../../src/domain/common/idempotency.ts';
import { asDatabase, statement, type MemoryDatabase } from './tables.ts';

const idOf = (scope: string, key: string) => `${scope} ${key}`;

const claimFresh = statement('claimKey', (tables, request: ClaimRequest): boolean => {
  const { scope, key, actor, requestHash, now } = request;
  const known = tables.keys.get(idOf(scope, key));
  if (known && known.created_at >= outdatedBefore(now)) return false;
  tables.keys.set(idOf(scope, key), { actor, request_hash: requestHash, answer: null, created_at: now });
  return true;
});

const findKey = statement(
  'findKey',
  (tables, scope: string, key: string) => tables.keys.get(idOf(scope, key)) ?? null,
);

const storeAnswer = statement('storeAnswer', (tables, scope: string, key: string, answer: string): void => {
  const known = tables.keys.get(idOf(scope, key));
  if (known) known.answer = answer;
});

const release = statement('releaseKey', (tables, scope: string, key: string): void => {
  if (tables.keys.get(idOf(scope, key))?.answer === null) tables.keys.delete(idOf(scope, key));
});

/** Replaces an interrupted request. Returns false if another request has replaced it, or it has finished. */
export const takeOverClaim = statement(
  'takeOverClaim',
  (tables, { scope, key, claimedAt, takenAt }: Claim & { takenAt: Date }): boolean => {
    const known = tables.keys.get(idOf(scope, key));
    if (!known || known.answer || known.created_at.getTime() !== claimedAt.getTime()) return false;
    if ((known.taken_at ?? claimedAt) > abandonedBefore(takenAt)) return false;
    known.taken_at = takenAt;
    return true;
  },
);

/** Creates the stored idempotency keys in memory. */
export function createMemoryKeys(memory: MemoryDatabase): IdempotencyKeys {
  const database = asDatabase(memory);
  return {
    async claim(request): Promise<ClaimOutcome> {
      if (await claimFresh(database, request))
        return { outcome: 'mine', claimedAt: request.now, isFirst: true };
      return outcomeOfClaim(await findKey(database, request.scope, request.key), request);
    },
    storeAnswer: (scope, key, answer) => storeAnswer(database, scope, key, answer),
    release: (scope, key) => release(database, scope, key),
    listScopes: async () => [],
  };
}
