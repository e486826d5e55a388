import assert from 'node:assert/strict';
import {
  hashOfSecret,
  invitationLink,
  keyOf,
  looksLikeKey,
  newApiKey,
  newInvitationToken,
} from '../../src/security/keys.ts';
import {
  isFromOwnPage,
  isOwnOrigin,
  newSessionToken,
  sessionCookie,
  sessionCookieName,
} from '../../src/security/sessions.ts';
import {
  callbackSecretContext,
  createSealing,
  keyIdOf,
  SealError,
  storedResponseContext,
  webhookSecretContext,
} from '../../src/security/sealing.ts';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { safeReturnPath } from '../../src/security/return-path.ts';

const HTTPS = 'https://baton.example.com';
const HTTP = 'http://localhost:3000';

describe('the session cookie', () => {
  it('is for this host only on HTTPS, lasts 14 days, and is invisible to scripts', () => {
    assert.equal(
      sessionCookie(HTTPS, 'abc'),
      '__Host-baton_session=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=1209600; Secure',
    );
  });

  it('has no prefix without HTTPS', () => {
    assert.equal(sessionCookieName(HTTP), 'baton_session');
    assert.equal(
      sessionCookie(HTTP, 'abc'),
      'baton_session=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=1209600',
    );
  });

  it('is removed by an empty value that expires at once', () => {
    assert.equal(
      sessionCookie(HTTPS, null),
      '__Host-baton_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure',
    );
  });

  it('has a random value, of which only the hash is stored', () => {
    const { value, hash } = newSessionToken();
    assert.match(value, /^[\w-]{43}$/);
    assert.equal(hash, hashOfSecret(value));
    assert.notEqual(newSessionToken().value, value);
  });
});

describe('a request from a page of the service', () => {
  it('has its origin, or is marked as same-origin by the browser', () => {
    assert.ok(isFromOwnPage(HTTPS, { origin: HTTPS }));
    assert.ok(isFromOwnPage(HTTPS, { 'sec-fetch-site': 'same-origin' }));
    assert.ok(isFromOwnPage(HTTPS, { origin: 'https://evil.example.com', 'sec-fetch-site': 'same-origin' }));
    for (const site of ['same-site', 'cross-site', 'none', ''])
      assert.ok(!isFromOwnPage(HTTPS, { 'sec-fetch-site': site }), site);
    assert.ok(!isFromOwnPage(HTTPS, {}));
  });

  it('can have another name of this machine, with the same scheme and port', () => {
    for (const origin of ['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000'])
      assert.ok(isOwnOrigin(HTTP, origin), origin);
    for (const origin of ['https://127.0.0.1:3000', 'http://127.0.0.1:3001', 'http://127.0.0.2:3000'])
      assert.ok(!isOwnOrigin(HTTP, origin), origin);
    assert.ok(!isOwnOrigin('http://10.0.0.1:3000', 'http://127.0.0.1:3000'));
    assert.ok(!isOwnOrigin('http://127.0.0.1:3000', 'http://10.0.0.1:3000'));
  });
});

describe('the return path', () => {
  it('has at most 1,000 characters', () => {
    const longest = `/${'x'.repeat(999)}`;
    assert.equal(safeReturnPath(longest), longest);
    assert.equal(safeReturnPath(`${longest}x`), '/');
    assert.equal(safeReturnPath(`/${'ü'.repeat(166)}`), `/${'%C3%BC'.repeat(166)}`);
    assert.equal(safeReturnPath(`/${'ü'.repeat(167)}`), '/');
  });

  it('is not the API or the sign-in page, in every notation', () => {
    for (const path of [
      '/api',
      '/api/',
      '/api?x',
      '/api#x',
      '/sign-in',
      '/sign-in/',
      '/sign-in#x',
      '/a/../api',
    ])
      assert.equal(safeReturnPath(path), '/', path);
    for (const path of ['/apis', '/sign-in-help', '/x/api', '/x?/api'])
      assert.equal(safeReturnPath(path), path);
  });

  it('is / for text that is not a path', () => {
    for (const path of ['a', ' /a', '//', '/\u0000', '/\u0085', '/a\\b'])
      assert.equal(safeReturnPath(path), '/', path);
  });
});

describe('an API key', () => {
  it('has 8 characters that are not confused, and 43 of base64url', () => {
    const made = Array.from({ length: 200 }, () => newApiKey());
    for (const { key } of made) assert.match(key, /^bt_[abcdefghjkmnpqrstuvwxyz23456789]{8}_[\w-]{43}$/);
    assert.equal(new Set(made.map(({ prefix }) => prefix)).size, 200);
    const letters = new Set(made.flatMap(({ prefix }) => prefix.slice(3).split('')));
    assert.equal(letters.size, 31, 'all of them occur');
  });

  it('is recognised by its whole form', () => {
    const key = `bt_abcdefgh_${'A'.repeat(43)}`;
    assert.ok(looksLikeKey(key));
    for (const wrong of [
      ` ${key}`,
      `${key} `,
      `${key}A`,
      key.slice(1),
      key.slice(0, -1),
      key.replace('a', 'A'),
      key.replace('_A', '-A'),
    ])
      assert.ok(!looksLikeKey(wrong), wrong);
    assert.equal(keyOf(key).prefix, 'bt_abcdefgh');
    assert.throws(() => keyOf('bt_'), /an API key must be/);
  });

  it('is stored as its SHA-256', () => {
    // printf 'secret' | sha256sum
    assert.equal(hashOfSecret('secret'), '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b');
  });
});

describe('an invitation', () => {
  it('has a random token behind the # of its link, of which only the hash is stored', () => {
    const { token, hash } = newInvitationToken();
    assert.match(token, /^[\w-]{43}$/);
    assert.equal(hash, hashOfSecret(token));
    assert.equal(invitationLink(HTTPS, 'abc'), 'https://baton.example.com/invitation#abc');
  });
});

describe('a key ring', () => {
  const encoded = (fill: number) => Buffer.alloc(32, fill).toString('base64');

  it('has keys in base64 and base64url, with or without padding', () => {
    const plain = Buffer.alloc(32, 0xfb).toString('base64');
    for (const text of [plain, plain.replace('=', ''), plain.replaceAll('+', '-').replaceAll('/', '_')])
      assert.deepEqual(parseKeyRing(`a:${text}`).first, { id: 'a', bytes: Buffer.alloc(32, 0xfb) });
  });

  it('has ids of 1 to 32 letters, digits, - and _', () => {
    for (const id of ['a', 'Z9_-', 'x'.repeat(32)])
      assert.equal(parseKeyRing(`${id}:${encoded(1)}`).first.id, id);
    for (const id of ['', 'a b', 'x'.repeat(33), 'a.b'])
      assert.throws(() => parseKeyRing(`${id}:${encoded(1)}`), /each key must be/, id);
  });

  it('has no text around its keys and no id twice', () => {
    assert.equal(parseKeyRing(` a:${encoded(1)} , b:${encoded(2)} `).first.id, 'a');
    for (const text of [`x a:${encoded(1)}`, `a:${encoded(1)} x`, `a:${encoded(1)},`, 'a:'])
      assert.throws(() => parseKeyRing(text), /each key must be/, text);
    assert.throws(() => parseKeyRing(`a:${encoded(1)},a:${encoded(2)}`), /the same id/);
  });
});

describe('a sealed value', () => {
  const sealing = createSealing(parseKeyRing(`k1:${Buffer.alloc(32, 1).toString('base64')}`));

  it('names its key', () => {
    assert.equal(keyIdOf(sealing.seal('x', 'c')), 'k1');
    assert.equal(keyIdOf('plain'), '');
  });

  it('is bound to its row', () => {
    assert.equal(callbackSecretContext('1'), 'task_runs.callback_secret:1');
    assert.equal(webhookSecretContext('1'), 'webhooks.secret:1');
    assert.equal(storedResponseContext({ scope: 's', key: 'k' }), 'idempotency_keys.answer:s:k');
  });

  it('is refused in any other form', () => {
    const [version, id, nonce, body] = sealing.seal('x', 'c').split('.');
    for (const parts of [
      [version],
      [version, id],
      [version, id, nonce],
      ['v2', id, nonce, body],
      [version, '', nonce, body],
      [version, id, '', body],
      [version, id, nonce, ''],
    ]) {
      assert.throws(() => sealing.open(parts.join('.'), 'c'), {
        name: 'SealError',
        message: 'not a sealed text',
      });
    }
    assert.throws(() => sealing.open([version, 'k2', nonce, body].join('.'), 'c'), SealError);
  });

  it('is refused with a shorter tag, which would be easier to guess', () => {
    const [version, id, nonce, tag = ''] = sealing.seal('', 'c').split('.');
    for (const bytes of [15, 12, 4]) {
      const short = Buffer.from(tag, 'base64url').subarray(0, bytes).toString('base64url');
      assert.throws(
        () => sealing.open([version, id, nonce, short].join('.'), 'c'),
        SealError,
        `${bytes} bytes`,
      );
    }
  });

  it('can be an empty text', () => {
    assert.equal(sealing.open(sealing.seal('', 'c'), 'c'), '');
  });
});
