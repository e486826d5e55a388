import { MAX_LISTED_PAYLOAD_BYTES } from '../common/limits.ts';

/** An attempt as it is listed. */
export type ListedAttempt<Attempt> = Omit<Attempt, 'request_body'> & { request_body: string | null };

/**
 * Returns attempts without the payloads of the older ones, if all together are larger than a response may be. `newest`: the
 * newest first, whose payload is always kept.
 */
export function limitPayloads<Attempt extends { request_body: string }>(
  newest: readonly Attempt[],
): ListedAttempt<Attempt>[] {
  let total = 0;
  return newest.map((attempt, index) => {
    total += Buffer.byteLength(attempt.request_body);
    return index === 0 || total <= MAX_LISTED_PAYLOAD_BYTES ? attempt : { ...attempt, request_body: null };
  });
}
