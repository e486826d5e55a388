import assert from 'node:assert/strict';
import { accountOf, createPasswordAttempts } from '../../src/api/account/session/password-attempts.ts';
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
    pass(5);
    assert.equal(await tries('203.0.113.8', true), 'rate_limited');
    pass(2);
    assert.equal(await tries('203.0.113.9', true), true);
  });

  it('are reset for an IP address by the correct password', async () => {
    const { tries } = attempts();
    for (let round = 0; round < 10; round += 1) {
      for (let n = 0; n < WRONG_PASSWORDS - 1; n += 1) await tries('198.51.100.1', false);
      assert.equal(await tries('198.51.100.1', true), true);
    }
  });

  it('are limited again after each wrong password, one a minute', async () => {
    const { tries, pass } = attempts();
    for (let n = 0; n < WRONG_PASSWORDS; n += 1) await tries('198.51.100.1', false);
    pass(59);
    assert.equal(await tries('198.51.100.1', false), 'rate_limited');
    pass(1);
    assert.equal(await tries('198.51.100.1', false), false);
    assert.equal(await tries('198.51.100.1', false), 'rate_limited');
  });

  it('do not count correct ones from other IP addresses', async () => {
    const { tries } = attempts();
    for (let n = 0; n < 3 * WRONG_PASSWORDS_OF_ACCOUNT; n += 1)
      assert.equal(await tries(`10.0.${n % 3}.${n}`, true), true);
  });

  it('are counted for each account, however its e-mail address is written', async () => {
    const { verify } = createPasswordAttempts(() => new Date(0));
    const wrong = async (email: string) => await verify({ email, address: '::1' }, async () => false);
    for (let n = 0; n < WRONG_PASSWORDS; n += 1)
      await wrong(n % 2 === 0 ? EMAIL : ` ${EMAIL.toUpperCase()} `);
    await assert.rejects(wrong(EMAIL), { code: 'rate_limited' });
    assert.equal(await wrong('ben@example.com'), false);
    assert.equal(accountOf(' Ada@Example.com '), EMAIL);
  });

  it('are not checked beyond the limit', async () => {
    const { verify } = createPasswordAttempts(() => new Date(0));
    let checks = 0;
    const wrong = async () => {
      checks += 1;
      return false;
    };
    for (let n = 0; n < WRONG_PASSWORDS + 5; n += 1)
      await verify({ email: EMAIL, address: '::1' }, wrong).catch(() => {});
    assert.equal(checks, WRONG_PASSWORDS);
  });
});
