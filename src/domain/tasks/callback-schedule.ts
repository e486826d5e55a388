import { CALLBACK_TIMEOUT_MS } from '../common/limits.ts';
import { CALLBACK_ATTEMPTS, callbackWaitMs } from '../common/retry-schedules.ts';

/** The attempts of a pending callback, of which the schedule and manual retries make the next one. */
export type CallbackProgress = {
  /** The manual retry to make the attempt for; null for an attempt of the schedule. */
  retryId: string | null;
  /** Number of started attempts, and the last one. `endedAt` is null until its end is recorded. */
  attempts: number;
  last: { attemptedAt: Date; endedAt: Date | null; nextAttemptAt: Date | null } | null;
};

/** An attempt that started this long ago is over, in milliseconds, even if its process died. */
export const CALLBACK_ATTEMPT_EXPIRY_MS = CALLBACK_TIMEOUT_MS + 2_000;

/**
 * Returns whether no attempt may follow the last one. While the callback is pending, the last attempt of a manual retry has
 * no recorded end.
 */
export function hasBegunLast({ retryId, attempts, last }: CallbackProgress): boolean {
  return retryId === null ? attempts >= CALLBACK_ATTEMPTS : last?.endedAt === null;
}

/**
 * Returns the time until the next attempt may begin, in milliseconds, 0 or less for now; null while an attempt is in
 * progress.
 */
export function timeUntilDue({ last }: Pick<CallbackProgress, 'last'>, now: number): number | null {
  const isInProgress =
    last?.endedAt === null && now - last.attemptedAt.getTime() <= CALLBACK_ATTEMPT_EXPIRY_MS;
  if (isInProgress) return null;
  return (last?.nextAttemptAt?.getTime() ?? now) - now;
}

/** The consequence of an attempt. `finalStatus` is null if the schedule has another attempt. */
export type CallbackVerdict = {
  finalStatus: 'delivered' | 'failed' | null;
  /** The wait before the next attempt, in milliseconds, and its time; null if there is none. */
  waitMs: number | null;
  nextAttemptAt: Date | null;
};

/** Returns the consequence of attempt number `number` (counted from 1). A manual retry is a single attempt. */
export function verdictOfAttempt(
  { number, retryId }: { number: number; retryId: string | null },
  isSuccess: boolean,
  completedAt: Date,
): CallbackVerdict {
  const waitMs = isSuccess || retryId !== null ? null : callbackWaitMs(number);
  if (waitMs === null)
    return { finalStatus: isSuccess ? 'delivered' : 'failed', waitMs, nextAttemptAt: null };
  return { finalStatus: null, waitMs, nextAttemptAt: new Date(completedAt.getTime() + waitMs) };
}
