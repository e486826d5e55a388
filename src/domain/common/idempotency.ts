import { IDEMPOTENCY_RETENTION_MS } from './limits.ts';

/** The form of an idempotency key. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * A request without a response after this time has no process any more, in milliseconds. The longest request takes 45 s: a
 * test of a webhook.
 */
const ABANDONED_MS = 60_000;

/** A request that claims a key. `actor` is the credential, `scope` the id of a project. */
export type ClaimRequest = { scope: string; key: string; actor: string; requestHash: string; now: Date };

/**
 * A claimed key. `claimedAt` is the time of its first use. `takenAt` is when this request replaced an interrupted one; null
 * in the first request.
 */
export type Claim = { scope: string; key: string; claimedAt: Date; takenAt: Date | null };

/** A stored key. `answer` is the sealed first response; `actor` is null in keys of previous versions. */
export type StoredKey = {
  actor?: string | null | undefined;
  request_hash: string;
  answer?: string | null | undefined;
  created_at: Date;
};

/**
 * The result of claiming a key. `mine`: this request is the first (or may replace one whose process died), and `claimedAt`
 * is when the key was first used; `isFirst` is false in the second case, in which only one of several repeats may run.
 * `answered`: the sealed first response. `at_work`: the first request is in progress. `reused`: the key belongs to another
 * request.
 */
export type ClaimOutcome =
  | { outcome: 'mine'; claimedAt: Date; isFirst: boolean }
  | { outcome: 'answered'; answer: string }
  | { outcome: 'at_work' }
  | { outcome: 'reused' };

/** Returns the result of claiming a key that is stored; null: another request has just released it. */
export function outcomeOfClaim(
  stored: StoredKey | null,
  { actor, requestHash, now }: Pick<ClaimRequest, 'actor' | 'requestHash' | 'now'>,
): ClaimOutcome {
  if (!stored) return { outcome: 'at_work' };
  const isOthers = (stored.actor ?? actor) !== actor;
  if (isOthers || stored.request_hash !== requestHash) return { outcome: 'reused' };
  if (stored.answer) return { outcome: 'answered', answer: stored.answer };
  if (stored.created_at > abandonedBefore(now)) return { outcome: 'at_work' };
  return { outcome: 'mine', claimedAt: stored.created_at, isFirst: false };
}

/** Returns the time at which a request must have begun, or before, to count as interrupted. */
export function abandonedBefore(now: Date): Date {
  return new Date(now.getTime() - ABANDONED_MS);
}

/** Returns the time before which a stored key counts as new. */
export function outdatedBefore(now: Date): Date {
  return new Date(now.getTime() - IDEMPOTENCY_RETENTION_MS);
}
