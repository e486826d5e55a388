import assert from 'node:assert/strict';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { keyOf, looksLikeKey, newApiKey } from '../../src/security/keys.ts';
import { isOwnOrigin, sessionCookie, sessionCookieName } from '../../src/security/sessions.ts';

describe('API keys', () => {
  it('have a readable prefix and 32 random bytes', () => {
    const { key, prefix, hash } = newApiKey();
    assert.match(key, /^bt_[a-z2-9]{8}_[\w-]{43}$/);
    assert.ok(key.startsWith(`${prefix}_`));
    assert.match(hash, /^[0-9a-f]{64}$/);
    assert.ok(looksLikeKey(key));
    assert.deepEqual(keyOf(key), { key, prefix, hash });
  });

  it('are rejected if their format is invalid', () => {
    for (const text of ['', 'bt_', 'bt_abcdefgh_short', `${newApiKey().key}x`]) {
      assert.equal(looksLikeKey(text), false);
      assert.throws(() => keyOf(text));
    }
  });
});

describe('key rings', () => {
  const good = Buffer.alloc(32, 1).toString('base64');

  it('have a first key, and find every key by its id', () => {
    const ring = parseKeyRing(`b:${good}, a:${good}`);
    assert.equal(ring.first.id, 'b');
    assert.deepEqual(ring.find('a'), Buffer.alloc(32, 1));
    assert.equal(ring.find('c'), undefined);
  });

  it('are rejected if they are invalid, without revealing the keys', () => {
    for (const text of ['', good, `a:${good},a:${good}`, `a:${good}x`, 'a:c2VjcmV0', `:${good}`]) {
      assert.throws(
        () => parseKeyRing(text),
        (error: Error) => !error.message.includes(good) && !error.message.includes('c2VjcmV0'),
      );
    }
  });
});

describe('session cookies', () => {
  it('are bound to the host on HTTPS', () => {
    assert.equal(sessionCookieName('https://baton.example.com'), '__Host-baton_session');
    assert.match(sessionCookie('https://baton.example.com', 'x'), /; Secure$/);
    assert.ok(!sessionCookie('http://localhost:3000', 'x').includes('Secure'));
  });

  it('are accepted only from the own origin', () => {
    const baseUrl = 'https://baton.example.com';
    assert.ok(isOwnOrigin(baseUrl, 'https://baton.example.com'));
    for (const origin of [
      'http://baton.example.com',
      'https://example.com',
      'https://baton.example.com.evil.com',
      'null',
      '',
      undefined,
    ]) {
      assert.ok(!isOwnOrigin(baseUrl, origin), String(origin));
    }
    assert.ok(isOwnOrigin('http://localhost:3000', 'http://127.0.0.1:3000'), 'another name of loopback');
    assert.ok(!isOwnOrigin('http://localhost:3000', 'http://127.0.0.1:3001'));
    assert.ok(!isOwnOrigin(baseUrl, 'http://localhost'));
  });
});
