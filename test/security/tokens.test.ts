import assert from 'node:assert/strict';
import { exportJWK, generateKeyPair, importJWK, SignJWT, UnsecuredJWT, type CryptoKey, type JWK } from 'jose';
import { SCOPES } from '../../src/domain/people/access.ts';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import {
  createTokens,
  ProviderUnreachable,
  TokenError,
  type ExternalProvider,
  type Tokens,
} from '../../src/security/tokens.ts';

const NOW = new Date('2026-01-31T12:00:00.500Z');
const SECOND = Math.floor(NOW.getTime() / 1_000);
const bytes = (fill: number) => Buffer.alloc(32, fill);
const ring = (...ids: string[]) =>
  parseKeyRing(ids.map((id) => `${id}:${bytes(id.charCodeAt(0)).toString('base64')}`).join(','));
const at = (ms: number) => () => new Date(NOW.getTime() + ms);

const CLAIMS = {
  subject: 'key:1',
  workspaceId: 'workspace-1',
  projectId: 'project-1',
  scopes: ['tasks:read', 'webhooks:write'],
  sessionId: null,
} as const;

const codeOf = async (verified: Promise<unknown>): Promise<string> => {
  const error: unknown = await verified.then(
    () => assert.fail('it was accepted'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof TokenError, String(error));
  assert.equal(error.name, 'TokenError');
  return error.code;
};

describe('a token of the service', () => {
  const tokens = createTokens(ring('a'), null, () => NOW);

  it('has its claims and expires after 15 minutes', async () => {
    const { token, expiresAt } = await tokens.issue(CLAIMS);
    assert.deepEqual(expiresAt, new Date((SECOND + 900) * 1_000));
    const { subject, workspaceId, projectId, scopes } = CLAIMS;
    assert.deepEqual(await tokens.verify(token), {
      origin: 'own',
      subject,
      workspaceId,
      projectId,
      scopes,
      sessionId: null,
      expiresAt,
    });
    const [header, payload] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString());
    assert.deepEqual(JSON.parse(header ?? ''), { alg: 'HS256', typ: 'JWT', kid: 'a' });
    assert.deepEqual(JSON.parse(payload ?? ''), {
      iss: 'baton',
      aud: 'baton',
      sub: subject,
      workspace_id: workspaceId,
      project_id: projectId,
      scope: 'tasks:read webhooks:write',
      iat: SECOND,
      exp: SECOND + 900,
    });
  });

  it('names the session that created it', async () => {
    const { token } = await tokens.issue({ ...CLAIMS, subject: 'user:1', sessionId: 's-1' });
    const claims = await tokens.verify(token);
    assert.deepEqual(claims.origin === 'own' && [claims.subject, claims.sessionId], ['user:1', 's-1']);
  });

  it('is accepted until it expires', async () => {
    const { token } = await tokens.issue(CLAIMS);
    await createTokens(ring('a'), null, at(899_000)).verify(token);
    assert.equal(await codeOf(createTokens(ring('a'), null, at(900_000)).verify(token)), 'token_expired');
  });

  it('is accepted with each key of the ring, and signed with the first one', async () => {
    const { token } = await tokens.issue(CLAIMS);
    const rotated = createTokens(ring('b', 'a'), null, () => NOW);
    await rotated.verify(token);
    const { token: newer } = await rotated.issue(CLAIMS);
    assert.equal(await codeOf(tokens.verify(newer)), 'token_invalid');
  });

  describe('is refused', () => {
    const claims = { workspace_id: 'w', project_id: 'p', scope: 'tasks:read' };
    const sign = (
      { alg = 'HS256', kid = 'a', iss = 'baton', aud = 'baton', key = bytes(97) },
      payload: Record<string, unknown> = claims,
      leftOut: 'exp' | 'sub' | null = null,
    ) => {
      const jwt = new SignJWT(payload).setProtectedHeader({ alg, kid }).setIssuer(iss).setAudience(aud);
      if (leftOut !== 'sub') jwt.setSubject('key:1');
      if (leftOut !== 'exp') jwt.setExpirationTime(SECOND + 60);
      return jwt.sign(key);
    };

    it('never if it is complete', async () => {
      assert.equal((await tokens.verify(await sign({}))).projectId, 'p');
    });

    const rows: [what: string, token: () => Promise<string> | string][] = [
      ['if another key signed it', () => sign({ key: bytes(98) })],
      ['if its key is unknown', () => sign({ kid: 'b', key: bytes(98) })],
      ['if it names no key', () => sign({ kid: null as unknown as string })],
      ['if its key is named by a number', () => sign({ kid: 97 as unknown as string })],
      ['if it is signed with another algorithm', () => sign({ alg: 'HS512', key: bytes(97) })],
      ['if another service issued it', () => sign({ iss: 'other' })],
      ['if it is for another service', () => sign({ aud: 'other' })],
      ['without a workspace', () => sign({}, { ...claims, workspace_id: undefined })],
      ['without a project', () => sign({}, { ...claims, project_id: undefined })],
      ['without scopes', () => sign({}, { ...claims, scope: undefined })],
      ['if its workspace is not text', () => sign({}, { ...claims, workspace_id: 1 })],
      ['if its project is not text', () => sign({}, { ...claims, project_id: ['p'] })],
      ['without a subject', () => sign({}, claims, 'sub')],
      ['without an expiration', () => sign({}, claims, 'exp')],
      ['if it is not signed', () => new UnsecuredJWT(claims).encode()],
      ['if it is not a token', () => 'abc'],
      ['if it is empty', () => ''],
    ];
    for (const [what, token] of rows) {
      it(what, async () => assert.equal(await codeOf(tokens.verify(await token())), 'token_invalid'));
    }
  });

  it('has only known scopes, in a fixed order, from a text or a list', async () => {
    const scopesOf = async (scope: unknown) => {
      const token = await new SignJWT({ workspace_id: 'w', project_id: 'p', scope, sid: 5 })
        .setProtectedHeader({ alg: 'HS256', kid: 'a' })
        .setIssuer('baton')
        .setAudience('baton')
        .setSubject('key:1')
        .setExpirationTime(SECOND + 60)
        .sign(bytes(97));
      const claims = await tokens.verify(token);
      assert.equal(claims.origin === 'own' && claims.sessionId, null, 'a session is text');
      return claims.scopes;
    };
    assert.deepEqual(await scopesOf('webhooks:read other tasks:read'), ['tasks:read', 'webhooks:read']);
    assert.deepEqual(await scopesOf([...SCOPES].toReversed()), [...SCOPES]);
    assert.deepEqual(await scopesOf('tasks:read,tasks:write'), []);
    assert.deepEqual(await scopesOf({ 0: 'tasks:read' }), []);
  });
});

describe('a token of an identity provider', () => {
  const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA'.split(' ');
  const keys = new Map<string, CryptoKey>();
  const published: JWK[] = [];
  let reads = 0;
  let provider: ExternalProvider;
  let tokens: Tokens;

  before(async () => {
    published.length = 0;
    for (const alg of ['RS256', 'ES256', 'ES384', 'ES512', 'EdDSA']) {
      const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
      keys.set(alg, privateKey);
      published.push({ ...(await exportJWK(publicKey)), kid: alg });
    }
    const rsa = await exportJWK(keys.get('RS256') as CryptoKey);
    for (const alg of ['RS384', 'RS512', 'PS256', 'PS384', 'PS512']) {
      keys.set(alg, (await importJWK(rsa, alg)) as CryptoKey);
    }
    provider = {
      jwksUrl: 'https://id.example.com/keys',
      issuer: 'https://id.example.com/',
      audience: 'baton-tests',
      projectClaim: 'https://example.com/project',
      scopeClaim: 'permissions',
      async fetch(url) {
        reads += 1;
        assert.equal(url, 'https://id.example.com/keys');
        return Response.json({ keys: published });
      },
    };
    tokens = createTokens(ring('a'), provider, () => NOW);
  });

  const payload: Record<string, unknown> = {
    'https://example.com/project': 'PROJECT-1',
    permissions: ['tasks:write', 'other'],
  };
  const kidOf = (alg: string) => (/^(RS|PS)/.test(alg) ? 'RS256' : alg);
  const sign = async (
    alg: string,
    { claims = payload, iss = 'https://id.example.com/', aud = 'baton-tests' } = {},
    kid = kidOf(alg),
  ) =>
    await new SignJWT(claims)
      .setProtectedHeader({ alg, kid })
      .setIssuer(iss)
      .setAudience(aud)
      .setSubject('ada')
      .setExpirationTime(SECOND + 60)
      .sign(keys.get(alg) as CryptoKey);

  it('has the project and the scopes of its claims', async () => {
    assert.deepEqual(await tokens.verify(await sign('ES256')), {
      origin: 'outside',
      subject: 'ada',
      projectId: 'project-1',
      scopes: ['tasks:write'],
      expiresAt: new Date((SECOND + 60) * 1_000),
    });
  });

  for (const alg of ALGORITHMS) {
    it(`can be signed with ${alg}`, async () => {
      assert.equal((await tokens.verify(await sign(alg))).subject, 'ada');
    });
  }

  it('is accepted if its key has the same id as a key of the service', async () => {
    const keysOf = async () => Response.json({ keys: [{ ...published[1], kid: 'a' }] });
    const both = createTokens(ring('a'), { ...provider, fetch: keysOf }, () => NOW);
    assert.equal((await both.verify(await sign('ES256', {}, 'a'))).origin, 'outside');
  });

  it('is accepted until it expires', async () => {
    const token = await sign('ES256');
    await createTokens(ring('a'), provider, at(58_000)).verify(token);
    assert.equal(await codeOf(createTokens(ring('a'), provider, at(60_000)).verify(token)), 'token_expired');
  });

  it('is refused if it is for another service, or from another provider', async () => {
    assert.equal(await codeOf(tokens.verify(await sign('ES256', { aud: 'other' }))), 'token_invalid');
    assert.equal(await codeOf(tokens.verify(await sign('ES256', { iss: 'other' }))), 'token_invalid');
  });

  it('is refused without a project, and if the project is not text', async () => {
    assert.equal(await codeOf(tokens.verify(await sign('ES256', { claims: {} }))), 'token_invalid');
    const claims = { 'https://example.com/project': 7 };
    await assert.rejects(tokens.verify(await sign('ES256', { claims })), {
      code: 'token_invalid',
      message: 'the claim https://example.com/project of the token must be a string',
    });
  });

  it('is refused without a subject that can be stored, and without an expiration', async () => {
    const unfinished = () =>
      new SignJWT(payload)
        .setProtectedHeader({ alg: 'ES256', kid: 'ES256' })
        .setIssuer('https://id.example.com/')
        .setAudience('baton-tests');
    const key = keys.get('ES256') as CryptoKey;
    const endless = await unfinished().setSubject('ada').sign(key);
    assert.equal(await codeOf(tokens.verify(endless)), 'token_invalid');
    const nobody = await unfinished()
      .setExpirationTime(SECOND + 60)
      .sign(key);
    assert.equal(await codeOf(tokens.verify(nobody)), 'token_invalid');
    const unstorable = await unfinished()
      .setSubject('a\u0000da')
      .setExpirationTime(SECOND + 60)
      .sign(key);
    assert.equal(await codeOf(tokens.verify(unstorable)), 'token_invalid');
  });

  it('is refused if its key is unknown, or another key signed it', async () => {
    assert.equal(await codeOf(tokens.verify(await sign('ES256', {}, 'unknown'))), 'token_invalid');
    const { privateKey } = await generateKeyPair('ES256');
    const forged = await new SignJWT(payload)
      .setProtectedHeader({ alg: 'ES256', kid: 'ES256' })
      .setIssuer('https://id.example.com/')
      .setAudience('baton-tests')
      .setSubject('ada')
      .setExpirationTime(SECOND + 60)
      .sign(privateKey);
    assert.equal(await codeOf(tokens.verify(forged)), 'token_invalid');
  });

  it('is refused if it is not signed, or signed with a shared secret', async () => {
    const unsecured = new UnsecuredJWT(payload)
      .setIssuer('https://id.example.com/')
      .setAudience('baton-tests')
      .setSubject('ada')
      .setExpirationTime(SECOND + 60)
      .encode();
    assert.equal(await codeOf(tokens.verify(unsecured)), 'token_invalid');
    const shared = await new SignJWT(payload)
      .setProtectedHeader({ alg: 'HS256', kid: 'ES256' })
      .setIssuer('https://id.example.com/')
      .setAudience('baton-tests')
      .setSubject('ada')
      .setExpirationTime(SECOND + 60)
      .sign(new TextEncoder().encode(JSON.stringify(published[1])));
    assert.equal(await codeOf(tokens.verify(shared)), 'token_invalid');
  });

  it('is not judged while the keys of the provider cannot be read', async () => {
    const down = { ...provider, fetch: () => Promise.reject(new Error('connection refused')) };
    const verified = createTokens(ring('a'), down, () => NOW).verify(await sign('ES256'));
    await assert.rejects(verified, (error: Error) => {
      assert.ok(error instanceof ProviderUnreachable);
      assert.deepEqual(
        [error.name, String(error.cause)],
        ['ProviderUnreachable', 'Error: connection refused'],
      );
      return true;
    });
  });

  it('is refused if several keys of the provider match it', async () => {
    const twice = { ...provider, fetch: async () => Response.json({ keys: [published[1], published[1]] }) };
    const verified = createTokens(ring('a'), twice, () => NOW).verify(await sign('ES256'));
    assert.equal(await codeOf(verified), 'token_invalid');
  });

  it('does not need the provider if the service issued it', async () => {
    const fresh = createTokens(ring('a'), provider, () => NOW);
    const before = reads;
    const { token } = await fresh.issue(CLAIMS);
    assert.equal((await fresh.verify(token)).origin, 'own');
    assert.equal(reads, before);
  });

  it('is refused if no provider is configured', async () => {
    await assert.rejects(createTokens(ring('a'), null, () => NOW).verify(await sign('ES256')), {
      code: 'token_invalid',
      message: 'the token is signed with an unknown key',
    });
  });
});
