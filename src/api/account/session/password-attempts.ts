import { WRONG_PASSWORD_SECONDS, WRONG_PASSWORDS } from '../../../domain/common/limits.ts';
import { createRateLimiter } from '../../../domain/common/rate-limiter.ts';
import { tooMany } from '../../http/rate-limit.ts';

/**
 * Slows down whoever guesses the password of one account, from however many addresses. Accounts that do not exist
 * are counted alike, so that the limit tells nobody who exists. A right password clears the count.
 */
export function createPasswordAttempts(clock: () => Date) {
  const rate = { name: 'account', perSecond: 1 / WRONG_PASSWORD_SECONDS, burst: WRONG_PASSWORDS };
  const limiter = createRateLimiter(rate, clock);
  return {
    /**
     * What `check` says of a password of this account.
     * @throws Problem `rate_limited`, without asking, where too many were wrong
     */
    async judge(email: string, check: () => Promise<boolean>): Promise<boolean> {
      const account = accountOf(email);
      // Counted before the check, so that many at once are no way around it.
      const { granted, remaining } = limiter.take(account);
      if (!granted) throw tooMany('wrong passwords for this account', remaining, rate.perSecond);
      const isRight = await check();
      if (isRight) limiter.refill(account);
      return isRight;
    },
  };
}

export type PasswordAttempts = ReturnType<typeof createPasswordAttempts>;

/** The one spelling of an e-mail address under which a person is stored. */
export function accountOf(email: string): string {
  return email.trim().toLowerCase();
}
