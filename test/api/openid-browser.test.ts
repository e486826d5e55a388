import assert from 'node:assert/strict';
import {
  expiredCookie,
  findPendingSignIn,
  pendingSignInCookie,
} from '../../src/api/account/openid/browser.ts';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { createSealing } from '../../src/security/sealing.ts';

const NOW = new Date('2026-01-31T12:00:00.000Z');

describe('the cookie of a sign-in at the provider', () => {
  const sealing = createSealing(parseKeyRing(`a:${Buffer.alloc(32, 1).toString('base64')}`));
  const baseUrl = 'https://baton.example.com';
  const attempt = { state: 'state-of-this', nonce: 'n', verifier: 'v', place: '/', until: NOW.getTime() + 1 };
  const pairOf = (cookie: string) => cookie.split(';')[0] ?? '';
  const find = (cookie: string, { state = attempt.state, now = NOW } = {}) =>
    findPendingSignIn({ cookie }, { baseUrl, sealing, state, now });
  const cookie = pairOf(pendingSignInCookie(baseUrl, sealing, attempt));

  it('identifies it until it expires', () => {
    assert.deepEqual(find(`other=1; ${cookie}`), attempt);
    assert.equal(find(cookie, { now: new Date(attempt.until) }), null);
  });

  it('belongs to its state alone, although names of cookies repeat only its beginning', () => {
    assert.equal(find(cookie, { state: 'state-of-another' }), null);
    assert.equal(find(cookie, { state: 'another' }), null);
    assert.equal(find(cookie.replace(/.(?=.{8}$)/, (letter) => (letter === 'A' ? 'B' : 'A'))), null);
    assert.equal(find(''), null);
  });

  it('is removed afterwards', () => {
    const removed = expiredCookie(baseUrl, attempt.state);
    assert.match(removed, /; Max-Age=0; Secure$/);
    assert.equal(pairOf(removed).split('=')[0], cookie.split('=')[0]);
    assert.equal(find(pairOf(removed)), null);
  });
});
