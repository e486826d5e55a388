import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import {
  expiredCookie,
  findPendingSignIn,
  pendingSignInCookie,
} from '../../src/api/account/openid/browser.ts';
import { visitorOf } from '../../src/api/account/openid/visitor.ts';
import { planSession } from '../../src/api/account/session/begin.ts';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { hashOfSecret } from '../../src/security/keys.ts';
import type { OpenIdPerson } from '../../src/security/openid.ts';
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

describe('the person whom the provider identified', () => {
  const person = {
    issuer: 'https://id.example.com',
    subject: 'sub-1',
    email: null,
    isEmailVerified: true,
    name: null,
  };
  const of = (fields: Partial<OpenIdPerson>) => {
    const { issuer, subject, email, name } = visitorOf({ ...person, ...fields });
    assert.deepEqual([issuer, subject], [person.issuer, person.subject]);
    return [email, name];
  };

  it('has a verified address in lower case, or none', () => {
    assert.deepEqual(of({ email: 'Ada@Example.com', name: 'Ada' }), ['ada@example.com', 'Ada']);
    assert.deepEqual(of({ email: 'ada@example.com', isEmailVerified: false, name: 'Ada' }), [null, 'Ada']);
    for (const email of ['ada', 'ada@example', '\u212Aing@example.com'])
      assert.deepEqual(of({ email, name: 'Ada' }), [null, 'Ada'], email);
    const longest = `${'a'.repeat(308)}@example.com`;
    assert.deepEqual(of({ email: longest, name: 'Ada' }), [longest, 'Ada']);
    assert.deepEqual(of({ email: `a${longest}`, name: 'Ada' }), [null, 'Ada']);
  });

  it('has the name of the provider, cut at a whole character, or one that is derived', () => {
    const email = 'ada@example.com';
    assert.deepEqual(of({ email, name: ' Ada ' }), [email, 'Ada']);
    assert.equal(of({ name: '\u{1F600}'.repeat(201) })[1], '\u{1F600}'.repeat(200));
    for (const name of [null, ' ', 'A\u0000', 'A\uD800'])
      assert.deepEqual([of({ email, name })[1], of({ name })[1]], ['ada', 'sub-1'], String(name));
  });
});

describe('a session to store', () => {
  it('has the device of its request and lasts 14 days', () => {
    const planned = (headers: IncomingHttpHeaders) =>
      planSession({ baseUrl: 'http://localhost', clock: () => NOW }, { headers, address: '203.0.113.9' });
    const { plan, cookie } = planned({ 'user-agent': 'x'.repeat(301) });
    assert.deepEqual(plan, {
      tokenHash: hashOfSecret(/^baton_session=([^;]+);/.exec(cookie)?.[1] ?? ''),
      userAgent: 'x'.repeat(300),
      address: '203.0.113.9',
      now: NOW,
      expiresAt: new Date('2026-02-14T12:00:00.000Z'),
    });
    assert.equal(planned({}).plan.userAgent, null);
  });
});
