import { createHash } from 'node:crypto';
import type { IdempotencyKeys } from '../../database/tasks/idempotency.ts';
import { derivedUuid } from '../../database/common/ids.ts';
import { isDatabaseOutage } from '../../database/common/outage.ts';
import { abandonedBefore, IDEMPOTENCY_KEY } from '../../domain/common/idempotency.ts';
import { storedResponseContext, type Sealing } from '../../security/sealing.ts';
import { SignalUncertain } from '../../temporal/task-control.ts';
import type { Caller } from './caller.ts';
import { Problem } from './problem.ts';
import type { RouteResponse, Claim } from './route.ts';

type Dependencies = {
  keys: IdempotencyKeys;
  /** Replaces an interrupted request. Returns false if another request has replaced it, or it has finished. */
  takeOver: (claim: Claim & { takenAt: Date }) => Promise<boolean>;
  sealing: Sealing;
  clock: () => Date;
  onError: (error: unknown) => void;
};
type IdempotentRequest = { given: string; method: string; path: string; body: unknown; caller: Caller };

/**
 * Returns the first response again for a repeated `Idempotency-Key` (docs/http-api.md). Only successful responses are
 * stored: a rejected request had no effect, and can be corrected and sent again with the same key. A response may contain
 * a secret, so only the credential that got it first gets it again.
 */
export function createIdempotency({ keys, takeOver, sealing, clock, onError }: Dependencies) {
  /** Returns the project that a key belongs to. A user has no project, so the oldest one of the workspace is used. */
  async function scopeOf(caller: Caller, given: string): Promise<{ scope: string; key: string }> {
    if (caller.kind !== 'person') return { scope: caller.projectId, key: given };
    const [scope] = await keys.listScopes(caller.workspaceId);
    if (scope === undefined) throw new Problem('bad_request', 'Idempotency-Key requires a project.');
    return { scope, key: `${caller.actor}:${given}` };
  }

  /** Returns the claim of the first request, or takes over that of an interrupted one. */
  async function holdClaim({
    scope,
    key,
    claimedAt,
    isFirst,
  }: Omit<Claim, 'takenAt'> & { isFirst: boolean }): Promise<Claim> {
    if (isFirst) return { scope, key, claimedAt, takenAt: null };
    const claim = { scope, key, claimedAt, takenAt: clock() };
    if (!(await takeOver(claim))) throw inProgress();
    return claim;
  }

  /** Returns whether neither an earlier nor a later request has the claim, so that this one may release it. */
  function isSoleRequest({ claimedAt, takenAt }: Claim): boolean {
    return takenAt === null && claimedAt > abandonedBefore(clock());
  }

  async function runClaimed(
    claim: Claim,
    run: (claim: Claim) => Promise<RouteResponse>,
  ): Promise<RouteResponse> {
    let answer: RouteResponse;
    try {
      answer = await run(claim);
    } catch (error) {
      // An earlier request without a response may have taken effect. A repeat that is rejected changes nothing about that.
      if (isSoleRequest(claim) && !isOutcomeUnknown(error))
        await keys.release(claim.scope, claim.key).catch(onError);
      throw error;
    }
    // If the response cannot be stored, it is still sent, because the request took effect.
    await keys.storeAnswer(claim.scope, claim.key, sealedAnswer(sealing, claim, answer)).catch(onError);
    return answer;
  }

  return async function once(
    wanted: IdempotentRequest,
    run: (claim: Claim) => Promise<RouteResponse>,
  ): Promise<RouteResponse> {
    if (!IDEMPOTENCY_KEY.test(wanted.given)) {
      throw new Problem('bad_request', 'Idempotency-Key must be 1–255 visible ASCII characters.');
    }
    const scopedKey = await scopeOf(wanted.caller, wanted.given);
    const { actor } = wanted.caller;
    const request = { ...scopedKey, actor, requestHash: requestHash(wanted), now: clock() };
    const claimed = await keys.claim(request);
    switch (claimed.outcome) {
      case 'mine':
        return await runClaimed(await holdClaim({ ...scopedKey, ...claimed }), run);
      case 'answered':
        return replayed(sealing.open(claimed.answer, storedResponseContext(scopedKey)));
      case 'at_work':
        throw inProgress();
      case 'reused':
        throw new Problem(
          'idempotency_key_reused',
          'This idempotency key was already used with a different request.',
        );
    }
  };
}

export type Idempotency = ReturnType<typeof createIdempotency>;

/** Returns the response as it is stored for repeats of the request. */
export function sealedAnswer(sealing: Sealing, claim: Claim, answer: RouteResponse): string {
  return sealing.seal(JSON.stringify(answer), storedResponseContext(claim));
}

/** Returns the error for a repeat while another request with the same key is in progress. */
export function inProgress(): Problem {
  return new Problem('conflict', 'The first request with this idempotency key is still in progress.', {
    headers: { 'Retry-After': '1' },
  });
}

/**
 * Returns true if PostgreSQL failed during the request, which may have been stored, or Temporal during a signal, which may
 * have arrived. The key then stays claimed, so that a repeat after the claim expires reaches the same result.
 */
function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof SignalUncertain || (!(error instanceof Problem) && isDatabaseOutage(error));
}

function replayed(kept: string): RouteResponse {
  const answer = JSON.parse(kept) as RouteResponse;
  return { ...answer, headers: { ...answer.headers, 'Idempotent-Replayed': 'true' } };
}

/** Returns a hash of the request. Equal values in the same order have equal hashes; white space is ignored. */
export function requestHash({
  method,
  path,
  body,
}: Pick<IdempotentRequest, 'method' | 'path' | 'body'>): string {
  return createHash('sha256')
    .update(JSON.stringify([method, path, body ?? null]))
    .digest('hex');
}

/** Returns the execution id that belongs to a claimed idempotency key. A repeat after a crash gets the same run. */
export function idOfClaim({ scope, key, claimedAt }: Claim): string {
  return derivedUuid(claimedAt, `${scope}:${claimedAt.getTime()}:${key}`);
}
