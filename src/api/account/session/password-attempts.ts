import { WRONG_PASSWORD_SECONDS, WRONG_PASSWORDS } from '../../../domain/common/limits.ts';
import { createRateLimiter } from '../../../domain/common/rate-limiter.ts';
import { tooMany } from '../../http/rate-limit.ts';

/**
 * Limits wrong passwords per account, across all addresses. Unknown accounts are counted too, so that the limit does
 * not reveal which accounts exist. A correct password clears the count.
 */
export function createPasswordAttempts(clock: () => Date) {
  const rate = { name: 'account', perSecond: 1 / WRONG_PASSWORD_SECONDS, burst: WRONG_PASSWORDS };
  const limiter = createRateLimiter(rate, clock);
  return {
    /**
     * Returns the result of `check` for a password of this account.
     * @throws Problem `rate_limited`, without calling `check`, after too many wrong passwords
     */
    async verify(email: string, check: () => Promise<boolean>): Promise<boolean> {
      const account = accountOf(email);
      // Counted before the check, so that concurrent attempts cannot bypass the limit.
      const { granted, remaining } = limiter.take(account);
      if (!granted) throw tooMany('wrong passwords for this account', remaining, rate.perSecond);
      const isRight = await check();
      if (isRight) limiter.refill(account);
      return isRight;
    },
  };
}

export type PasswordAttempts = ReturnType<typeof createPasswordAttempts>;

/** Returns the normalized e-mail address under which a person is stored. */
export function accountOf(email: string): string {
  return email.trim().toLowerCase();
}
