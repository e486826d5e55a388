import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { SignJWT, decodeJwt, generateKeyPair } from 'jose';
import { Identity, Member, User } from '../../src/database/people/entities.ts';
import type { SignInProblem } from '../../src/domain/people/sign-in-problems.ts';
import { startBrowsing, type Browsing, type Page } from '../support/browsing.ts';
import { CLIENT, startOpenIdProvider, type Account, type TestProvider } from '../support/openid-provider.ts';
import { useOwnWorld, useWorld } from '../support/world.ts';

const newAddress = () => `${randomUUID()}@example.com`;

describe('signing in with OpenID', () => {
  let provider: TestProvider;
  const world = useOwnWorld(async () => {
    provider = await startOpenIdProvider();
    const environment = {
      SIGN_INS_PER_MINUTE: '1000',
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_CLIENT_SECRET: CLIENT.secret,
      OIDC_NAME: 'Acme',
      OIDC_ALLOWED_DOMAINS: 'acme.example',
      OIDC_JOIN_ROLE: 'member',
    };
    return { worker: false, environment };
  });
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });
  after(() => provider?.close());
  afterEach(() => {
    provider.comesBack();
    provider.tampering(null);
  });

  // The base URL of the service uses localhost, the only host to which the provider redirects.
  const base = () => world.api.url.replace('127.0.0.1', 'localhost');
  const entities = () => world.database.em.fork();
  const isOurs = (location: URL) => location.origin === base() && !location.pathname.startsWith('/api/');
  const begin = (to?: string) =>
    `${base()}/api/v1/openid/sign-in${to === undefined ? '' : `?to=${encodeURIComponent(to)}`}`;
  const isBack = (location: URL) => location.pathname === '/api/v1/openid/callback';
  const signInAs = async (
    subject: string | null,
    account?: Account,
    { to, browsing = startBrowsing() }: { to?: string; browsing?: Browsing } = {},
  ) => {
    provider.signsIn(subject, account);
    const page = await browsing.open(begin(to), isOurs);
    return { page, browsing, cookie: browsing.cookieHeader(base()) };
  };
  const pathOf = ({ status, location }: Page) => {
    assert.equal(status, 302);
    assert.equal(location?.origin, base());
    return `${location.pathname}${location.search}${location.hash}`;
  };
  const me = async (cookie: string) => (await world.send('GET', '/api/v1/me', { cookie })).json;
  const assertRefused = async (
    { page, browsing, cookie }: Awaited<ReturnType<typeof signInAs>>,
    problem: SignInProblem,
  ) => {
    assert.equal(page.location?.pathname, '/sign-in');
    assert.equal(page.location?.searchParams.get('problem'), problem);
    assert.ok(![...browsing.cookies(base()).keys()].includes('baton_session'));
    assert.equal(
      (await world.send('GET', '/api/v1/session', { key: null, ...(cookie ? { cookie } : {}) })).status,
      401,
    );
  };
  const invite = async (email: string, role = 'admin') =>
    (await world.send('POST', '/api/v1/invitations', { ...world.as(owner), body: { email, role } })).json;
  const addMember = async (email: string, role = 'viewer') =>
    (await world.send('POST', '/api/v1/members', { ...world.as(owner), body: { email, role } })).json;

  it('works when the provider becomes available after the start', async () => {
    await assertRefused(
      await signInAs('early', { email: newAddress(), email_verified: true }),
      'openid_unavailable',
    );
    assert.equal((await world.send('GET', '/health/live', { key: null })).status, 200);
    provider.open(`${base()}/api/v1/openid/callback`);
    const { page } = await signInAs('early', { email: 'early@acme.example', email_verified: true });
    assert.equal(pathOf(page), '/');
  });

  it('is offered with the name of the provider', async () => {
    const { json } = await world.send('GET', '/api/v1/sign-in-options', { key: null });
    assert.deepEqual(json, { password: true, openid: { name: 'Acme' } });
  });

  describe('accepts', () => {
    it('a member by the verified email address, and later by issuer and subject', async () => {
      const email = newAddress();
      const { id } = await addMember(email);
      const first = await signInAs(
        `sub-${email}`,
        { email: email.toUpperCase(), email_verified: true },
        { to: '/orchestration?state=failed#top' },
      );
      assert.equal(pathOf(first.page), '/orchestration?state=failed#top');
      assert.deepEqual([(await me(first.cookie)).user.id, (await me(first.cookie)).role], [id, 'viewer']);
      const identity = await entities().findOneOrFail(Identity, { user_id: id });
      assert.deepEqual([identity.issuer, identity.subject], [provider.issuer, `sub-${email}`]);
      const again = await signInAs(`sub-${email}`, {
        email: 'renamed@elsewhere.example',
        email_verified: false,
      });
      assert.equal((await me(again.cookie)).user.id, id);
      const { json } = await world.send('GET', '/api/v1/audit-log?limit=20', { cookie: owner });
      const [started, linked] = ['session.started', 'person.openid_linked'].map((action) =>
        json.data.find(
          (entry: { action: string; actor: string }) =>
            entry.action === action && entry.actor === `user:${id}`,
        ),
      );
      assert.deepEqual([started.detail, linked.detail], [{ by: 'openid' }, { issuer: provider.issuer }]);
    });

    it('an invited user with the invited role, without the link', async () => {
      const email = newAddress();
      const invitation = await invite(email, 'admin');
      const { cookie } = await signInAs(`sub-${email}`, { email, email_verified: true, name: 'Ada L.' });
      const { user, role } = await me(cookie);
      assert.deepEqual([user.email, user.name, role], [email, 'Ada L.', 'admin']);
      const { json } = await world.send('GET', '/api/v1/invitations?status=accepted', { cookie: owner });
      assert.ok(json.data.some(({ id }: { id: string }) => id === invitation.id));
      await assert.rejects(world.signIn(email, ''), /is wrong/);
      const change = { current_password: '', new_password: 'a long enough one' };
      const refused = await world.send('PUT', '/api/v1/me/password', { ...world.as(cookie), body: change });
      assert.equal(refused.json.code, 'invalid_state');
    });

    it('a user with an email address of an allowed domain', async () => {
      const { cookie } = await signInAs('new-at-acme', { email: 'Bob@Acme.Example', email_verified: true });
      const { user, role } = await me(cookie);
      assert.deepEqual([user.email, user.name, role], ['bob@acme.example', 'bob', 'member']);
    });

    it('a user, and sets an HttpOnly session cookie with SameSite=Lax', async () => {
      const { page } = await signInAs('new-at-acme', { email: 'bob@acme.example', email_verified: true });
      const [session, dropped] = page.headers.getSetCookie();
      assert.match(session ?? '', /^baton_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax/);
      assert.match(dropped ?? '', /^baton_openid_[\w-]{8}=; .*Max-Age=0/);
      assert.equal(page.headers.get('cache-control'), 'no-store');
    });

    it('two simultaneous sign-ins in one browser', async () => {
      const browsing = startBrowsing();
      provider.signsIn('new-at-acme', { email: 'bob@acme.example', email_verified: true });
      const one = await browsing.open(begin('/one'), isBack);
      const two = await browsing.open(begin('/two'), isBack);
      assert.equal(pathOf(await browsing.open(one.location?.href ?? '', isOurs)), '/one');
      assert.equal(pathOf(await browsing.open(two.location?.href ?? '', isOurs)), '/two');
    });
  });

  describe('rejects', () => {
    it('a user without an invitation, and stores nothing about them', async () => {
      const email = newAddress();
      await assertRefused(await signInAs(`sub-${email}`, { email, email_verified: true }), 'not_invited');
      for (const almost of ['eve@acme.example.evil.example', 'eve@xacme.example', 'eve@sub.acme.example']) {
        await assertRefused(
          await signInAs(`sub-${almost}`, { email: almost, email_verified: true }),
          'not_invited',
        );
      }
      assert.equal(await entities().count(User, { email }), 0);
      assert.equal(await entities().count(Identity, { subject: `sub-${email}` }), 0);
    });

    it('an unverified email address', async () => {
      const email = newAddress();
      await addMember(email, 'admin');
      const unverified: Account[] = [
        { email },
        { email, email_verified: false },
        { email, email_verified: 'true' },
        {},
        { email_verified: true },
      ];
      for (const account of unverified) {
        await assertRefused(await signInAs(randomUUID(), account), 'email_not_verified');
      }
      // The lower case of the Kelvin sign is k.
      await addMember('king@example.com');
      const lookalike = { email: '\u212Aing@example.com', email_verified: true };
      await assertRefused(await signInAs(randomUUID(), lookalike), 'email_not_verified');
    });

    it('a user whose account is linked to another identity', async () => {
      const email = newAddress();
      await addMember(email, 'admin');
      await signInAs('the-first', { email, email_verified: true });
      await assertRefused(await signInAs('the-second', { email, email_verified: true }), 'linked_otherwise');
    });

    it('a removed member, until they are invited again', async () => {
      const email = newAddress();
      const { id } = await addMember(email);
      const { cookie } = await signInAs(`sub-${email}`, { email, email_verified: true });
      await world.send('DELETE', `/api/v1/members/${id}`, world.as(owner));
      assert.equal((await world.send('GET', '/api/v1/session', { cookie })).status, 401);
      await assertRefused(await signInAs(`sub-${email}`, { email, email_verified: true }), 'not_invited');
      await invite(email, 'viewer');
      const again = await signInAs(`sub-${email}`, { email, email_verified: true });
      assert.equal((await me(again.cookie)).role, 'viewer');
    });

    it('the password of a removed member, after somebody at the provider got the email address', async () => {
      const email = newAddress();
      const { id, initial_password: password } = await addMember(email);
      assert.ok(await world.signIn(email, password));
      await world.send('DELETE', `/api/v1/members/${id}`, world.as(owner));
      await invite(email, 'admin');
      const successor = await signInAs(`next-${email}`, { email, email_verified: true });
      assert.equal((await me(successor.cookie)).role, 'admin');
      await assert.rejects(world.signIn(email, password), /is wrong/);
    });

    it('a user with a revoked invitation', async () => {
      const email = newAddress();
      const { id } = await invite(email);
      await world.send('DELETE', `/api/v1/invitations/${id}`, world.as(owner));
      await assertRefused(await signInAs(`sub-${email}`, { email, email_verified: true }), 'not_invited');
    });

    it('a user who cancels at the provider', async () => {
      const visit = await signInAs(null, {}, { to: '/settings/members' });
      await assertRefused(visit, 'openid_refused');
      assert.equal(visit.page.location?.searchParams.get('to'), '/settings/members');
    });

    it('a user if the provider becomes unavailable during the sign-in', async () => {
      const browsing = startBrowsing();
      provider.signsIn('new-at-acme', { email: 'bob@acme.example', email_verified: true });
      const there = await browsing.open(begin(), isBack);
      provider.goesAway();
      const page = await browsing.open(there.location?.href ?? '', isOurs);
      assert.equal(page.location?.searchParams.get('problem'), 'openid_unavailable');
      assert.equal((await world.send('GET', '/api/v1/session', { cookie: owner })).status, 200);
    });
  });

  describe('is protected against', () => {
    const account = { email: 'bob@acme.example', email_verified: true };
    const claims = (token: unknown) => decodeJwt(String(token));

    it('an ID token that is missing, unsigned, or of another signer, audience or nonce', async () => {
      const { privateKey } = await generateKeyPair('RS256');
      const signed = (members: object) => async (answer: Record<string, unknown>) => ({
        ...answer,
        id_token: await new SignJWT({ ...claims(answer['id_token']), ...members })
          .setProtectedHeader({ alg: 'RS256' })
          .sign(privateKey),
      });
      const unsigned = (answer: Record<string, unknown>) => {
        const [, body] = String(answer['id_token']).split('.');
        const header = Buffer.from('{"alg":"none"}').toString('base64url');
        return { ...answer, id_token: `${header}.${body}.` };
      };
      const without = ({ id_token: _gone, ...answer }: Record<string, unknown>) => answer;
      for (const change of [
        signed({}),
        signed({ sub: 'the-first' }),
        signed({ aud: 'another' }),
        signed({ nonce: 'x' }),
        unsigned,
        without,
      ]) {
        provider.tampering(change);
        await assertRefused(await signInAs('new-at-acme', account), 'openid_failed');
      }
    });

    it('an ID token of another sign-in of the same client', async () => {
      let old: unknown = null;
      provider.tampering((answer) => {
        old ??= answer['id_token'];
        return { ...answer, id_token: old };
      });
      assert.equal(pathOf((await signInAs('new-at-acme', account)).page), '/');
      await assertRefused(await signInAs('new-at-acme', account), 'openid_failed');
    });

    it('a callback that was not started in this browser', async () => {
      provider.signsIn('new-at-acme', account);
      const { location } = await startBrowsing().open(begin(), isBack);
      const [victim, before] = [startBrowsing(), provider.redeemed];
      for (const url of [
        location?.href ?? '',
        `${base()}/api/v1/openid/callback`,
        `${base()}/api/v1/openid/callback?code=x&state=y`,
      ]) {
        const page = await victim.open(url, isOurs);
        assert.equal(page.location?.searchParams.get('problem'), 'openid_expired');
      }
      assert.equal(provider.redeemed, before, 'the provider receives no request');
      assert.equal(victim.cookies(base()).size, 0);
    });

    it('a changed state, a changed code, and a repeated callback', async () => {
      provider.signsIn('new-at-acme', account);
      const browsing = startBrowsing();
      const back = async () => (await browsing.open(begin(), isBack)).location as URL;
      const problem = async (url: URL) => {
        const page = await browsing.open(url.href, isOurs);
        return page.location?.searchParams.get('problem');
      };
      const state = await back();
      state.searchParams.set('state', `${state.searchParams.get('state')?.slice(0, 8)}xxxx`);
      assert.equal(await problem(state), 'openid_expired');
      const code = await back();
      code.searchParams.set('code', 'guessed');
      assert.equal(await problem(code), 'openid_failed');
      const twice = await back();
      const cookies = new Map(browsing.cookies(base()));
      assert.equal(await problem(twice), null);
      for (const [name, value] of cookies) (browsing.cookies(base()) as Map<string, string>).set(name, value);
      assert.equal(await problem(twice), 'openid_failed');
      const doubled = await back();
      doubled.searchParams.append('code', 'another');
      assert.equal(await problem(doubled), 'openid_failed');
    });

    it('a callback with another issuer', async () => {
      provider.signsIn('new-at-acme', account);
      const browsing = startBrowsing();
      const { location } = await browsing.open(begin(), isBack);
      location?.searchParams.set('iss', 'https://evil.example.com');
      const page = await browsing.open(location?.href ?? '', isOurs);
      assert.equal(page.location?.searchParams.get('problem'), 'openid_failed');
    });

    it('redirects to other origins', async () => {
      for (const to of [
        'https://evil.example.com/',
        '//evil.example.com',
        '/\\evil.example.com',
        '/.//evil.example.com',
        'javascript:alert(1)',
        '/sign-in',
        '/api/v1/openid/sign-in',
      ]) {
        const { page } = await signInAs('new-at-acme', account, { to });
        assert.equal(pathOf(page), '/', to);
      }
    });
  });

  it('uses PKCE, a state and a nonce, with new values each time', async () => {
    const urls = await Promise.all(
      [0, 1].map(async () => (await startBrowsing().open(begin(), () => true)).location as URL),
    );
    const [one, two] = urls.map(({ searchParams }) => searchParams);
    assert.equal(one?.get('code_challenge_method'), 'S256');
    assert.equal(one?.get('redirect_uri'), `${base()}/api/v1/openid/callback`);
    for (const name of ['state', 'nonce', 'code_challenge']) {
      assert.ok((one?.get(name)?.length ?? 0) >= 43);
      assert.notEqual(one?.get(name), two?.get(name));
    }
  });

  it('leaves no code, token or secret in the log', async () => {
    let tokens: Record<string, unknown> = {};
    provider.tampering((answer) => (tokens = answer));
    provider.signsIn('new-at-acme', { email: 'bob@acme.example', email_verified: true });
    const browsing = startBrowsing();
    const { location } = await browsing.open(begin(), isBack);
    await browsing.open(location?.href ?? '', isOurs);
    const secrets = [
      CLIENT.secret,
      location?.searchParams.get('code'),
      tokens['id_token'],
      tokens['access_token'],
      browsing.cookies(base()).get('baton_session'),
    ];
    for (const secret of secrets) {
      assert.ok(typeof secret === 'string' && !world.logged().includes(secret));
    }
  });

  it('does not change the roles and passwords of members', async () => {
    const email = newAddress();
    const { id, initial_password: password } = await addMember(email, 'member');
    await signInAs(`sub-${email}`, { email, email_verified: true });
    const member = await entities().findOneOrFail(Member, { user_id: id });
    assert.equal(member.role, 'member');
    assert.ok(await world.signIn(email, password));
  });
});

describe('a public client of an OpenID provider', () => {
  let provider: TestProvider;
  const world = useOwnWorld(async () => {
    provider = await startOpenIdProvider({ publicClient: true });
    const environment = {
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_ALLOWED_DOMAINS: 'acme.example',
      SIGN_INS_PER_MINUTE: '1',
    };
    return { worker: false, environment };
  });
  after(() => provider?.close());

  it('signs in with PKCE alone, within the limit of sign-ins per minute', async () => {
    const base = world.api.url.replace('127.0.0.1', 'localhost');
    provider.open(`${base}/api/v1/openid/callback`);
    provider.signsIn('ann', { email: 'ann@acme.example', email_verified: true });
    const isOurs = (location: URL) => location.origin === base && !location.pathname.startsWith('/api/');
    const problems: (string | null | undefined)[] = [];
    for (let count = 0; count < 2; count += 1) {
      const page = await startBrowsing().open(`${base}/api/v1/openid/sign-in`, isOurs);
      problems.push(page.location?.searchParams.get('problem'));
    }
    assert.deepEqual(problems, [null, 'rate_limited']);
  });
});

describe('a service without an OpenID provider', () => {
  const world = useWorld();

  it('offers no OpenID sign-in, and redirects its URLs to the sign-in page', async () => {
    const { json } = await world.send('GET', '/api/v1/sign-in-options', { key: null });
    assert.deepEqual(json, { password: true, openid: null });
    for (const path of ['sign-in', 'callback']) {
      const { status, headers } = await world.send('GET', `/api/v1/openid/${path}`, { key: null });
      assert.equal(status, 302);
      assert.match(headers.get('location') ?? '', /\/sign-in\?problem=openid_off$/);
    }
  });
});
