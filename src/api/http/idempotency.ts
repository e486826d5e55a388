import { createHash } from 'node:crypto';
import type { Database } from '../../database/database.ts';
import { claimKey, storeAnswer, releaseKey } from '../../database/tasks/idempotency.ts';
import { derivedUuid } from '../../database/common/ids.ts';
import { isDatabaseOutage } from '../../database/common/outage.ts';
import { listProjectIds } from '../../database/people/projects.ts';
import { answerPlace, type Sealing } from '../../security/sealing.ts';
import type { Caller } from './caller.ts';
import { Problem } from './problem.ts';
import type { Answer, Claim } from './route.ts';

/** What an idempotency key may be. */
export const KEY_FORM = /^[\x21-\x7e]{1,255}$/;

type Dependencies = {
  database: Database;
  sealing: Sealing;
  clock: () => Date;
  onError: (error: unknown) => void;
};
type Wanted = { given: string; method: string; path: string; body: unknown; caller: Caller };

/**
 * Makes a repeat of a request with the same `Idempotency-Key` answer what the first one answered (docs/http-api.md).
 * Only successes are kept: a refused request did nothing, and may be sent again, corrected, with the same key.
 */
export function createIdempotency({ database, sealing, clock, onError }: Dependencies) {
  /** The project that a key belongs to; a person has none, so the workspace's oldest one holds theirs. */
  async function scopeOf(caller: Caller, given: string): Promise<{ scope: string; key: string }> {
    if (caller.kind !== 'person') return { scope: caller.projectId, key: given };
    const [scope] = await listProjectIds(database, caller.workspaceId);
    if (scope === undefined) throw new Problem('bad_request', 'Idempotency-Key requires a project.');
    return { scope, key: `${caller.actor}:${given}` };
  }

  async function first(claim: Claim, run: (claim: Claim) => Promise<Answer>): Promise<Answer> {
    let answer: Answer;
    try {
      answer = await run(claim);
    } catch (error) {
      if (!isInTheDark(error)) await releaseKey(database, claim.scope, claim.key).catch(onError);
      throw error;
    }
    // An answer that can't be kept is given nevertheless: what it tells of has happened.
    const sealed = sealing.seal(JSON.stringify(answer), answerPlace(claim));
    await storeAnswer(database, claim.scope, claim.key, sealed).catch(onError);
    return answer;
  }

  return async function once(wanted: Wanted, run: (claim: Claim) => Promise<Answer>): Promise<Answer> {
    if (!KEY_FORM.test(wanted.given)) {
      throw new Problem('bad_request', 'Idempotency-Key must be 1–255 visible ASCII characters.');
    }
    const place = await scopeOf(wanted.caller, wanted.given);
    const claimed = await claimKey(database, { ...place, requestHash: requestHash(wanted), now: clock() });
    switch (claimed.outcome) {
      case 'mine':
        return await first({ ...place, claimedAt: claimed.claimedAt }, run);
      case 'answered':
        return replayed(sealing.open(claimed.answer, answerPlace(place)));
      case 'at_work':
        throw new Problem('conflict', 'The first request with this idempotency key is still in progress.', {
          headers: { 'Retry-After': '1' },
        });
      case 'reused':
        throw new Problem(
          'idempotency_key_reused',
          'This idempotency key was already used with a different request.',
        );
    }
  };
}

export type Idempotency = ReturnType<typeof createIdempotency>;

/**
 * True where PostgreSQL went away in the midst: what was written may be there all the same. Then the key stays claimed,
 * so that a repeat comes to the same thing as soon as it may take the place of this request.
 */
function isInTheDark(error: unknown): boolean {
  return !(error instanceof Problem) && isDatabaseOutage(error);
}

function replayed(kept: string): Answer {
  const answer = JSON.parse(kept) as Answer;
  return { ...answer, headers: { ...answer.headers, 'Idempotent-Replayed': 'true' } };
}

/** Two bodies are the same when they say the same in the same order; white space does not count. */
export function requestHash({ method, path, body }: Pick<Wanted, 'method' | 'path' | 'body'>): string {
  return createHash('sha256')
    .update(JSON.stringify([method, path, body ?? null]))
    .digest('hex');
}

/**
 * The execution id that belongs to a claimed idempotency key: whoever takes over after a crash comes to the same run.
 */
export function idOfClaim({ scope, key, claimedAt }: Claim): string {
  return derivedUuid(claimedAt, `${scope}:${claimedAt.getTime()}:${key}`);
}
