import {
  WRONG_PASSWORD_SECONDS,
  WRONG_PASSWORDS,
  WRONG_PASSWORDS_OF_ACCOUNT,
} from '../../../domain/common/limits.ts';
import { createRateLimiter, type RateLimiter } from '../../../domain/common/rate-limiter.ts';
import { tooMany } from '../../http/rate-limit.ts';

/** An attempt to sign in. */
type Attempt = { email: string; address: string };

/**
 * Limits wrong passwords, for each account from one address, and for each account from all addresses. The second limit
 * is much wider, so that a stranger at another address does not keep a person from signing in. Unknown accounts are
 * counted too, so that the limits do not reveal which accounts exist. A correct password clears the count of its address.
 */
export function createPasswordAttempts(clock: () => Date) {
  const perSecond = 1 / WRONG_PASSWORD_SECONDS;
  const fromAddress = createRateLimiter({ name: 'account', perSecond, burst: WRONG_PASSWORDS }, clock);
  const inAll = createRateLimiter(
    { name: 'account', perSecond: 10 * perSecond, burst: WRONG_PASSWORDS_OF_ACCOUNT },
    clock,
  );
  return {
    /**
     * Returns the result of `check` for a password of this account.
     * @throws Problem `rate_limited`, without calling `check`, after too many wrong passwords
     */
    async verify({ email, address }: Attempt, check: () => Promise<boolean>): Promise<boolean> {
      const account = accountOf(email);
      const accountAndAddress = `${account} ${address}`;
      // Counted before the check, so that concurrent attempts cannot bypass the limits.
      take(fromAddress, accountAndAddress);
      take(inAll, account);
      const isRight = await check();
      if (isRight) {
        fromAddress.refill(accountAndAddress);
        inAll.refund(account);
      }
      return isRight;
    },
  };
}

function take(limiter: RateLimiter, key: string): void {
  const { granted, remaining } = limiter.take(key);
  if (!granted) throw tooMany('wrong passwords for this account', remaining, limiter.rate.perSecond);
}

export type PasswordAttempts = ReturnType<typeof createPasswordAttempts>;

/** Returns the normalized e-mail address under which a person is stored. */
export function accountOf(email: string): string {
  return email.trim().toLowerCase();
}
