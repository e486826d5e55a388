import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import {
  createOpenIdProvider,
  OpenIdFailure,
  type OpenIdSecrets,
  type OpenIdSettings,
} from '../../src/security/openid.ts';

type Answer = [status: number, body: unknown];
type Requested = { path: string; authorization: string | undefined; body: URLSearchParams };

/** A small provider whose every response a test can replace. The tests of sign-ins use a complete one. */
describe('the client of an OpenID provider', () => {
  let server: Server;
  let issuer: string;
  let privateKey: CryptoKey;
  let jwk: JWK;
  let requests: Requested[];
  /** By path: the status and the body of the response. */
  let responses: Map<string, () => Promise<Answer>>;
  let now: number;

  before(async () => {
    const pair = await generateKeyPair('RS256', { extractable: true });
    privateKey = pair.privateKey;
    jwk = { ...(await exportJWK(pair.publicKey)), kid: 'k', alg: 'RS256', use: 'sig' };
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const path = request.url ?? '';
        const body = new URLSearchParams(Buffer.concat(chunks).toString());
        requests.push({ path, authorization: request.headers.authorization, body });
        const respond = responses.get(path) ?? (async (): Promise<Answer> => [404, {}]);
        void respond().then(([status, json]) =>
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json)),
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const METADATA = '/.well-known/openid-configuration';
  const metadata = (more: object = {}) => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['code'],
    id_token_signing_alg_values_supported: ['RS256'],
    subject_types_supported: ['public'],
    ...more,
  });
  beforeEach(() => {
    requests = [];
    now = Date.parse('2026-01-31T12:00:00.000Z');
    responses = new Map<string, () => Promise<Answer>>([
      [METADATA, async () => [200, metadata()]],
      ['/keys', async () => [200, { keys: [jwk] }]],
    ]);
  });

  const clientOf = (clientSecret: string | null = 'the secret') =>
    createOpenIdProvider(
      {
        issuer,
        clientId: 'baton',
        clientSecret,
        redirectUri: 'https://baton.example.com/callback',
        fetch: fetch as OpenIdSettings['fetch'],
      },
      () => new Date(now),
    );
  /** Lets the provider issue an ID token with these claims for the sign-in. */
  const issue = ({ nonce }: OpenIdSecrets, claims: object) =>
    responses.set('/token', async () => {
      const token = await new SignJWT({ nonce, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'k' })
        .setIssuer(issuer)
        .setAudience('baton')
        .setSubject('sub-1')
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(privateKey);
      return [200, { access_token: 'the access token', token_type: 'Bearer', id_token: token }];
    });
  const backWith = (secrets: OpenIdSecrets, more: Record<string, string> = { code: 'the code' }) =>
    new URLSearchParams({ state: secrets.state, ...more });
  /** Signs a person with these claims in. */
  async function signIn(claims: object, client = clientOf()) {
    const { secrets } = await client.begin();
    issue(secrets, claims);
    return await client.finish(backWith(secrets), secrets);
  }
  const failureOf = async (work: Promise<unknown>) =>
    await work.then(
      () => assert.fail('it succeeded'),
      (error: unknown) => {
        assert.ok(error instanceof OpenIdFailure, String(error));
        return [error.code, error.message];
      },
    );

  it('sends the browser away with its secrets, and gets the person for the code', async () => {
    const client = clientOf();
    const { url, secrets } = await client.begin();
    const { origin, pathname, searchParams } = new URL(url);
    assert.equal(`${origin}${pathname}`, `${issuer}/authorize`);
    assert.deepEqual(Object.fromEntries(searchParams), {
      client_id: 'baton',
      response_type: 'code',
      redirect_uri: 'https://baton.example.com/callback',
      scope: 'openid email profile',
      state: secrets.state,
      nonce: secrets.nonce,
      code_challenge: createHash('sha256').update(secrets.verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    assert.equal(new Set(Object.values(secrets)).size, 3);
    issue(secrets, { email: 'Ada@example.com', email_verified: true, name: 'Ada' });
    const person = { issuer, subject: 'sub-1', email: 'Ada@example.com', isEmailVerified: true, name: 'Ada' };
    assert.deepEqual(await client.finish(backWith(secrets), secrets), person);
    const sent = requests.find(({ path }) => path === '/token');
    assert.deepEqual(Object.fromEntries(sent?.body ?? []), {
      grant_type: 'authorization_code',
      code: 'the code',
      redirect_uri: 'https://baton.example.com/callback',
      code_verifier: secrets.verifier,
    });
  });

  it('takes as verified only what the provider says to be true', async () => {
    const of = async (claims: object) => {
      const { email, isEmailVerified, name } = await signIn(claims);
      return [email, isEmailVerified, name];
    };
    assert.deepEqual(await of({ email: 'a@example.com', email_verified: 'true', name: 7 }), [
      'a@example.com',
      false,
      null,
    ]);
    assert.deepEqual(await of({ email: 5, email_verified: true }), [null, true, null]);
    assert.deepEqual(await of({}), [null, false, null]);
    assert.ok(!requests.some(({ path }) => path === '/me'), 'without an endpoint for user info');
  });

  it('asks for the user info if the ID token has no address, and trusts the token more', async () => {
    responses.set(METADATA, async () => [200, metadata({ userinfo_endpoint: `${issuer}/me` })]);
    const info = { sub: 'sub-1', email: 'info@example.com', email_verified: true, name: 'Info' };
    responses.set('/me', async () => [200, info]);
    const { email, isEmailVerified, name } = await signIn({ name: 'Token' });
    assert.deepEqual([email, isEmailVerified, name], ['info@example.com', true, 'Token']);
    assert.equal(requests.find(({ path }) => path === '/me')?.authorization, 'Bearer the access token');
    requests.length = 0;
    assert.equal((await signIn({ email: 'token@example.com' })).email, 'token@example.com');
    assert.ok(!requests.some(({ path }) => path === '/me'));
    responses.set('/me', async () => [200, { ...info, sub: 'another' }]);
    const [code] = await failureOf(signIn({}));
    assert.equal(code, 'openid_failed');
  });

  const METHODS = 'token_endpoint_auth_methods_supported';
  const ROWS: [
    what: string,
    methods: string[] | null,
    secret: string | null,
    sent: 'basic' | 'post' | 'none',
  ][] = [
    ['in the header by default', null, 'the secret', 'basic'],
    [
      'in the header if the provider accepts both ways',
      ['client_secret_post', 'client_secret_basic'],
      's',
      'basic',
    ],
    ['in the body if the provider accepts only that', ['client_secret_post'], 'the secret', 'post'],
    ['in the header if the provider names other ways only', ['private_key_jwt'], 'the secret', 'basic'],
    ['not at all if there is none', ['client_secret_post'], null, 'none'],
  ];
  for (const [what, methods, secret, sent] of ROWS) {
    it(`sends its secret ${what}`, async () => {
      responses.set(METADATA, async () => [200, metadata(methods ? { [METHODS]: methods } : {})]);
      await signIn({}, clientOf(secret));
      const token = requests.find(({ path }) => path === '/token');
      assert.equal(token?.authorization?.startsWith('Basic ') ?? false, sent === 'basic');
      assert.equal(token?.body.get('client_secret') ?? null, sent === 'post' ? secret : null);
      assert.equal(token?.body.get('client_id') ?? null, sent === 'basic' ? null : 'baton');
    });
  }

  it('reads the metadata once an hour, and keeps the old ones if that fails', async () => {
    const reads = () => requests.filter(({ path }) => path === METADATA).length;
    const client = clientOf();
    await Promise.all([client.begin(), client.begin()]);
    assert.equal(reads(), 1);
    now += 3_600_000 - 1;
    await client.begin();
    assert.equal(reads(), 1);
    now += 1;
    responses.set(METADATA, async () => [500, {}]);
    await client.begin();
    assert.equal(reads(), 2);
    await client.begin();
    assert.equal(reads(), 3);
    responses.set(METADATA, async () => [200, metadata({ authorization_endpoint: `${issuer}/moved` })]);
    assert.equal(new URL((await client.begin()).url).pathname, '/moved');
    await client.begin();
    assert.equal(reads(), 4);
  });

  it('says that the provider is unavailable if its metadata cannot be read, until they can be', async () => {
    const client = clientOf();
    const secrets = { state: 's', nonce: 'n', verifier: 'v' };
    responses.set(METADATA, async () => [503, {}]);
    for (const work of [client.begin(), client.finish(backWith(secrets), secrets)]) {
      const [code, message] = await failureOf(work);
      assert.equal(code, 'openid_unavailable');
      assert.match(message ?? '', /^cannot read the metadata of the provider: ./);
    }
    responses.set(METADATA, async () => [200, metadata()]);
    assert.ok((await client.begin()).url);
  });

  it('distinguishes refusals, outages and failures', async () => {
    const client = clientOf();
    const { secrets } = await client.begin();
    const back = (more: Record<string, string>) => failureOf(client.finish(backWith(secrets, more), secrets));
    assert.deepEqual(await back({ error: 'access_denied' }), [
      'openid_refused',
      'the provider returned access_denied',
    ]);
    for (const error of ['temporarily_unavailable', 'server_error'])
      assert.deepEqual(await back({ error }), ['openid_unavailable', `the provider returned ${error}`]);
    assert.deepEqual(await back({ error: 'invalid_scope' }), [
      'openid_failed',
      'the provider returned invalid_scope',
    ]);
    for (const error of ['<script>', 'x'.repeat(51)])
      assert.deepEqual(await back({ error }), ['openid_failed', 'the provider returned an unknown error']);
    assert.deepEqual((await back({ error: 'x'.repeat(50) }))[1], `the provider returned ${'x'.repeat(50)}`);
    const answer = (status: number, body: object) => responses.set('/token', async () => [status, body]);
    answer(400, { error: 'invalid_grant', error_description: 'a secret' });
    assert.deepEqual(await back({ code: 'c' }), [
      'openid_failed',
      'the provider refused the code: invalid_grant',
    ]);
    for (const [status, code] of [
      [500, 'openid_unavailable'],
      [503, 'openid_unavailable'],
      [404, 'openid_failed'],
    ] as const) {
      answer(status, {});
      assert.equal((await back({ code: 'c' }))[0], code, String(status));
    }
    answer(200, { access_token: 'a', token_type: 'Bearer' });
    assert.equal((await back({ code: 'c' }))[0], 'openid_failed', 'there is no ID token');
    issue({ ...secrets, nonce: 'another' }, {});
    assert.equal((await back({ code: 'c' }))[0], 'openid_failed', 'the ID token is for another sign-in');
    assert.equal((await back({ code: 'c', state: 'another' }))[0], 'openid_failed');
  });
});
