import assert from 'node:assert/strict';
import { createPasswordAttempts } from '../../src/api/account/session/password-attempts.ts';
import { WRONG_PASSWORDS, WRONG_PASSWORDS_OF_ACCOUNT } from '../../src/domain/common/limits.ts';

describe('wrong passwords of one account', () => {
  const EMAIL = 'ada@example.com';

  function attempts() {
    let now = Date.parse('2026-01-01T10:00:00Z');
    const { verify } = createPasswordAttempts(() => new Date(now));
    const tries = async (address: string, isRight: boolean) =>
      await verify({ email: EMAIL, address }, async () => isRight).catch(
        ({ code }: { code: string }) => code,
      );
    return { tries, pass: (seconds: number) => void (now += seconds * 1_000) };
  }

  it('from one IP address do not prevent a sign-in from another one', async () => {
    const { tries } = attempts();
    for (let n = 0; n < WRONG_PASSWORDS; n += 1) assert.equal(await tries('198.51.100.1', false), false);
    assert.equal(await tries('198.51.100.1', true), 'rate_limited');
    assert.equal(await tries('203.0.113.9', true), true);
  });

  it('from many IP addresses are limited together for some seconds', async () => {
    const { tries, pass } = attempts();
    for (let n = 0; n < WRONG_PASSWORDS_OF_ACCOUNT; n += 1)
      assert.equal(await tries(`10.0.0.${n}`, false), false);
    assert.equal(await tries('203.0.113.9', true), 'rate_limited');
    pass(6);
    assert.equal(await tries('203.0.113.9', true), true);
  });

  it('are reset for an IP address by the correct password', async () => {
    const { tries } = attempts();
    for (let round = 0; round < 10; round += 1) {
      for (let n = 0; n < WRONG_PASSWORDS - 1; n += 1) await tries('198.51.100.1', false);
      assert.equal(await tries('198.51.100.1', true), true);
    }
  });
});
