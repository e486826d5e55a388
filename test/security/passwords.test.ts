import assert from 'node:assert/strict';
import { hashPassword, newPassword, verifyPassword } from '../../src/security/passwords.ts';

describe('passwords', () => {
  it('are stored as Argon2id in PHC format, each with its own salt', async () => {
    const [one, two] = await Promise.all([hashPassword('pässword'), hashPassword('pässword')]);
    assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    assert.notEqual(one, two);
    assert.equal(await verifyPassword('pässword', one), true);
    assert.equal(await verifyPassword('passwort', one), false);
  });

  it('match in composed and decomposed Unicode form', async () => {
    assert.equal(await verifyPassword('pa\u0308ss', await hashPassword('p\u00e4ss')), true);
  });

  it('do not match a missing or invalid hash', async () => {
    for (const hash of [null, '', 'plain', '$argon2id$v=19$m=99999999,t=2,p=1$AAAA$AAAA']) {
      assert.equal(await verifyPassword('x', hash), false);
    }
  });

  it('are verified with hashes of other costs', async () => {
    // From the reference implementation: password "password", salt "somesalt", t=2, m=65536, p=1.
    const hash = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
    assert.equal(await verifyPassword('password', hash), true);
  });

  it('have 120 random bits if they are generated', () => {
    assert.match(newPassword(), /^[\w-]{20}$/);
    assert.notEqual(newPassword(), newPassword());
  });
});
