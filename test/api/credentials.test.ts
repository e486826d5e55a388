import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { exportJWK, SignJWT, type JWTHeaderParameters, type JWTPayload } from 'jose';
import { sql } from 'kysely';
import { pino } from 'pino';
import { queryBuilderOf } from '../../src/database/database.ts';
import { TOKEN_SECONDS } from '../../src/domain/common/limits.ts';
import { startGateway } from '../../src/gateway/server.ts';
import { eventually } from '../support/eventually.ts';
import { addWorkspace } from '../support/people.ts';
import { openPlain } from '../support/plain-channel.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { assertProblem, assertWithin } from './problems.ts';
import { type Received, type Sent, useOwnWorld, useWorld } from '../support/world.ts';

const TASKS = '/api/v1/tasks';

describe('credentials', () => {
  const world = useWorld();
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });

  const list = (sent: Sent) => world.send('GET', TASKS, sent);
  const assertRejected = (received: Received) => assertProblem(received, 401, 'unauthenticated');
  const newKey = async (members: Record<string, unknown> = {}) => {
    const body = { name: 'A key', project_id: world.installation.project_id, ...members };
    return await world.send('POST', '/api/v1/keys', { ...world.as(owner), body });
  };
  const newToken = async (sent: Sent = {}) =>
    (await world.send('POST', '/api/v1/tokens', sent)).json.token as string;

  it('are required, and the challenge names the accepted schemes', async () => {
    const received = await list({ key: null });
    assertRejected(received);
    assert.match(
      received.headers.get('www-authenticate') ?? '',
      /^Bearer realm="baton".*ApiKey realm="baton"/,
    );
  });

  it('are rejected if they are unknown or malformed', async () => {
    const strange = `${world.installation.api_key.slice(0, -1)}_`;
    for (const key of ['x', strange, `${world.installation.api_key} `.repeat(2)])
      assertRejected(await list({ key }));
    for (const Authorization of [
      'Basic dXNlcjpwYXNz',
      'Bearer',
      'Bearer x.y.z',
      `Bearer ${world.installation.api_key}`,
    ]) {
      assertRejected(await list({ key: null, headers: { Authorization } }));
    }
    assertRejected(await list({ cookie: 'baton_session=abc' }));
  });

  it('are accepted as API keys until they are revoked', async () => {
    const { status, json } = await newKey();
    assert.equal(status, 201);
    assert.ok(json.key.startsWith(`${json.prefix}_`));
    assert.deepEqual(json.scopes, ['tasks:read', 'tasks:write']);
    assert.equal((await list({ key: json.key })).status, 200);
    assert.equal((await world.send('DELETE', `/api/v1/keys/${json.id}`, world.as(owner))).status, 204);
    assertRejected(await list({ key: json.key }));
    assert.equal((await world.send('DELETE', `/api/v1/keys/${json.id}`, world.as(owner))).status, 204);
  });

  it('are rejected after they have expired', async () => {
    const inAnHour = { expires_at: new Date(Date.now() + 3_600_000).toISOString() };
    const [valid, expired] = [(await newKey(inAnHour)).json, (await newKey(inAnHour)).json];
    await sql`update api_keys set expires_at = now() where id = ${expired.id}`.execute(
      queryBuilderOf(world.database),
    );
    assert.equal((await list({ key: valid.key })).status, 200);
    assertRejected(await list({ key: expired.key }));
    const past = await newKey({ expires_at: '2020-01-01T00:00:00Z' });
    assertProblem(past, 422, 'validation_failed');
  });

  it('are never returned again, but their last use is', async () => {
    const { json: made } = await newKey();
    const from = Date.now();
    await list({ key: made.key });
    const shown = await eventually('the use is recorded', async () => {
      const { json, text } = await world.send('GET', '/api/v1/keys', world.as(owner));
      assert.ok(!text.includes(made.key));
      const found = json.data.find((key: { id: string }) => key.id === made.id);
      return found.last_used_at !== null && found;
    });
    assertWithin(shown.last_used_at, from);
    assert.ok(!world.logged().includes(made.key));
  });

  it('remain valid only for the overlap when they are rotated', async () => {
    const { json: old } = await newKey();
    const rotate = (id: string, body?: object) =>
      world.send('POST', `/api/v1/keys/${id}/rotate`, { ...world.as(owner), body });
    const { status, json: next } = await rotate(old.id, { overlap_hours: 1 });
    assert.equal(status, 201);
    assert.notEqual(next.key, old.key);
    assert.deepEqual([next.name, next.scopes], [old.name, old.scopes]);
    assert.equal((await list({ key: old.key })).status, 200);
    assert.equal((await list({ key: next.key })).status, 200);
    assertProblem(await rotate(old.id), 409, 'invalid_state');
    const { json: last } = await rotate(next.id, { overlap_hours: 0 });
    assertRejected(await list({ key: next.key }));
    assert.equal((await list({ key: last.key })).status, 200);
    assertProblem(await rotate(last.id, { overlap_hours: -1 }), 422, 'validation_failed');
  });

  it('remain valid for a day when they are rotated without an overlap of choice', async () => {
    const rotate = async (sent: object) => {
      const { json: old } = await newKey({ scopes: ['webhooks:read'] });
      const from = Date.now();
      const { json: next } = await world.send('POST', `/api/v1/keys/${old.id}/rotate`, {
        ...world.as(owner),
        ...sent,
      });
      const { json } = await world.send('GET', '/api/v1/keys?limit=200', world.as(owner));
      const shown = json.data.find(({ id }: { id: string }) => id === old.id);
      assert.equal(shown.replaced_by, next.id);
      const { key, ...rest } = next;
      assert.ok(key.startsWith(`${next.prefix}_`));
      assert.deepEqual(
        json.data.find(({ id }: { id: string }) => id === next.id),
        rest,
      );
      assert.deepEqual([next.expires_at, next.scopes, next.name], [null, ['webhooks:read'], 'A key']);
      return [shown.expires_at, from] as const;
    };
    for (const sent of [{}, { body: {} }]) {
      const [until, from] = await rotate(sent);
      assertWithin(until, from, 24 * 3_600_000);
    }
    const [until, from] = await rotate({ body: { overlap_hours: 3 } });
    assertWithin(until, from, 3 * 3_600_000);
  });

  it('identify the caller as a key if there is also a token, and never as a person then', async () => {
    const kindOf = async (sent: Sent) => (await world.send('GET', '/api/v1/me', sent)).json.kind;
    const token = await newToken();
    const headers = { Authorization: `bearer  ${token}` };
    assert.equal(await kindOf({ headers }), 'key');
    assert.equal(await kindOf({ key: null, headers }), 'token');
    assert.equal(await kindOf({ key: null, headers, cookie: owner }), 'token');
    assert.equal(await kindOf({ cookie: owner, key: null }), 'person');
  });

  it('of a session have their last use recorded', async () => {
    await world.signIn();
    const cookie = await world.signIn();
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
    await sql`
      update sessions set last_seen_at = ${hourAgo}::timestamptz from users
      where users.id = user_id and email = ${world.installation.admin_email}
    `.execute(queryBuilderOf(world.database));
    const from = Date.now();
    const [used, unused] = await eventually('the use is recorded', async () => {
      const { json } = await world.send('GET', '/api/v1/sessions', { cookie, key: null });
      return json.data[0].last_seen_at !== hourAgo && json.data;
    });
    assert.ok(used.current);
    assertWithin(used.last_seen_at, from);
    assert.equal(unused.last_seen_at, hourAgo);
  });

  it('expire when they would have expired without a rotation with a longer overlap', async () => {
    const expiresAt = new Date(Date.now() + 1_800_000).toISOString();
    const { json: old } = await newKey({ expires_at: expiresAt });
    const body = { overlap_hours: 1 };
    const { status } = await world.send('POST', `/api/v1/keys/${old.id}/rotate`, {
      ...world.as(owner),
      body,
    });
    assert.equal(status, 201);
    const { json } = await world.send('GET', '/api/v1/keys', world.as(owner));
    const shown = json.data.find(({ id }: { id: string }) => id === old.id);
    assert.equal(shown.expires_at, expiresAt);
  });

  it('allow only the operations of their scopes', async () => {
    const { json: reader } = await newKey({ scopes: ['tasks:read'] });
    const { json: writer } = await newKey({ scopes: ['tasks:write'] });
    assert.equal((await list({ key: reader.key })).status, 200);
    assertProblem(await world.submit({}, { key: reader.key }), 403, 'forbidden');
    assertProblem(await list({ key: writer.key }), 403, 'forbidden');
    assertProblem(await newKey({ scopes: [] }), 422, 'validation_failed');
    assertProblem(await newKey({ scopes: ['tasks:everything'] }), 422, 'validation_failed');
  });

  it('of another project cannot read or change this one', async () => {
    const { json: project } = await world.send('POST', '/api/v1/projects', {
      ...world.as(owner),
      body: { name: 'Other' },
    });
    const { json: foreign } = await newKey({ project_id: project.id });
    const { json: run } = await world.submit({ metadata: { rehearsal: { start_ms: 60_000 } } });
    const path = `${TASKS}/${run.execution_id}`;
    assertProblem(await world.submit({}, { key: foreign.key }), 403, 'project_not_allowed');
    for (const [method, address] of [
      ['GET', path],
      ['GET', `${path}/events`],
      ['GET', `${path}/callbacks`],
      ['POST', `${path}/pause`],
      ['POST', `${path}/cancel`],
      ['DELETE', path],
    ] as const) {
      assertProblem(await world.send(method, address, { key: foreign.key }), 404, 'not_found');
    }
    assert.deepEqual((await list({ key: foreign.key })).json.data, []);
    const token = await newToken({ key: foreign.key });
    assertProblem(await world.send('GET', path, { token }), 404, 'not_found');
    assertProblem(await world.submit({}, { token }), 403, 'project_not_allowed');
  });

  it('are not created for a project of another workspace', async () => {
    await addWorkspace(world);
    const [other] = await world.database.em
      .fork()
      .execute<{ id: string }[]>('select id from projects where workspace_id <> ? limit 1', [
        world.installation.workspace_id,
      ]);
    assertProblem(await newKey({ project_id: other?.id }), 403, 'project_not_allowed');
  });

  it('can be exchanged for a token of the same project', async () => {
    const from = Date.now();
    const received = await world.send('POST', '/api/v1/tokens');
    assert.equal(received.status, 201);
    assert.deepEqual(Object.keys(received.json), ['token', 'token_type', 'expires_at']);
    assert.equal(received.json.token_type, 'Bearer');
    assertWithin(received.json.expires_at, from, TOKEN_SECONDS * 1_000);
    const { token } = received.json;
    assert.equal((await world.submit({}, { token })).status, 201);
    assert.equal(
      (await world.send('POST', '/api/v1/tokens', { token })).status,
      403,
      'a token cannot create a token',
    );
    const elsewhere = { body: { project_id: '00000000-0000-7000-8000-000000000000' } };
    assertProblem(await world.send('POST', '/api/v1/tokens', elsewhere), 403, 'project_not_allowed');
  });

  it('invalidate their tokens when they are revoked', async () => {
    const { json: made } = await newKey();
    const token = await newToken({ key: made.key });
    assert.equal((await list({ token })).status, 200);
    await world.send('DELETE', `/api/v1/keys/${made.id}`, world.as(owner));
    assertRejected(await list({ token }));
  });

  it('are rejected if they are forged or expired tokens', async () => {
    const [head = '', claims = '', signature = ''] = (await newToken()).split('.');
    const decoded = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString()) as object;
    const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const forged = `${head}.${encoded({ ...decoded(claims), project_id: 'x' })}.${signature}`;
    const received = await list({ token: forged });
    assertRejected(received);
    assert.match(received.headers.get('www-authenticate') ?? '', /error="invalid_token"/);
    const old = await new SignJWT({ ...decoded(claims), exp: Math.floor(Date.now() / 1_000) - 1 })
      .setProtectedHeader(decoded(head) as JWTHeaderParameters)
      .sign(world.configuration.tokenKeys.first.bytes);
    const expired = await list({ token: old });
    assertRejected(expired);
    assert.match(expired.json.detail, /expired/);
  });

  it('are rejected if they contradict each other', async () => {
    const { json: project } = await world.send('POST', '/api/v1/projects', {
      ...world.as(owner),
      body: { name: 'Third' },
    });
    const { json: other } = await newKey({ project_id: project.id });
    const headers = { Authorization: `Bearer ${await newToken({ key: other.key })}` };
    assertProblem(await list({ headers }), 400, 'bad_request');
    assert.equal((await list({ key: other.key, headers })).status, 200);
  });

  it('are described by GET /api/v1/me', async () => {
    const { json: asKey } = await world.send('GET', '/api/v1/me');
    assert.equal(asKey.kind, 'key');
    assert.equal(asKey.project_id, world.installation.project_id);
    assert.equal(asKey.label, `key:${asKey.key.prefix}`);
    const { json: asPerson } = await world.send('GET', '/api/v1/me', world.as(owner));
    assert.equal(asPerson.label, `user:${world.installation.admin_email}`);
    assert.equal(asPerson.role, 'owner');
    const { json: asToken } = await world.send('GET', '/api/v1/me', { token: await newToken() });
    assert.equal(asToken.kind, 'token');
  });
});

describe('tokens of an external identity provider', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  let keys: Receiver;
  const world = useOwnWorld(async () => {
    const jwk = { ...(await exportJWK(publicKey)), kid: 'outside', alg: 'RS256', use: 'sig' };
    keys = await startReceiver();
    keys.answering((_request, response) => void response.end(JSON.stringify({ keys: [jwk] })));
    const environment = {
      JWKS_URL: `${keys.url}/keys`,
      JWT_ISSUER: 'https://login.example.com',
      JWT_AUDIENCE: 'tasks',
      JWT_PROJECT_CLAIM: 'project',
      JWT_SCOPE_CLAIM: 'scp',
    };
    return { worker: false, environment };
  });
  after(() => keys?.close());

  const signed = async (claims: JWTPayload) =>
    await new SignJWT({ project: world.installation.project_id, scp: ['tasks:read', 'other'], ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'outside' })
      .setIssuer('https://login.example.com')
      .setAudience('tasks')
      .setSubject('somebody')
      .setExpirationTime('5m')
      .sign(privateKey);

  it('are accepted for the project and the scopes in their claims', async () => {
    const token = await signed({});
    assert.equal((await world.send('GET', TASKS, { token })).status, 200);
    assertProblem(await world.submit({}, { token }), 403, 'forbidden');
    assert.equal((await world.submit({}, { token: await signed({ scp: 'tasks:write' }) })).status, 201);
  });

  it('are accepted by the MCP endpoint, which tells clients where to get one', async () => {
    const message = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const headers = { Accept: 'application/json, text/event-stream' };
    const refused = await world.send('POST', '/mcp', { key: null, body: message, headers });
    assert.equal(refused.status, 401);
    const challenge = refused.headers.get('www-authenticate') ?? '';
    const [, address = ''] = /^Bearer resource_metadata="([^"]+)", realm="baton"/.exec(challenge) ?? [];
    const { pathname } = new URL(address);
    const { status, json } = await world.send('GET', pathname, { key: null });
    assert.equal(status, 200);
    assert.equal(json.resource, address.replace('/.well-known/oauth-protected-resource', ''));
    assert.deepEqual(json.authorization_servers, ['https://login.example.com']);
    assert.ok(json.scopes_supported.includes('tasks:read'));
    const token = await signed({});
    assert.equal((await world.send('POST', '/mcp', { token, body: message, headers })).status, 200);
  });

  it('are accepted by a gateway', async () => {
    const gateway = await startGateway(world.configuration, pino({ level: 'silent' }));
    try {
      const connection = await openPlain(gateway.url, await signed({}));
      connection.socket.close();
      await assert.rejects(openPlain(gateway.url, await signed({ project: 'x' })), { status: 401 });
    } finally {
      await gateway.close();
    }
  });

  it('are rejected for an unknown project', async () => {
    const token = await signed({ project: 'x' });
    assertProblem(await world.send('GET', TASKS, { token }), 401, 'unauthenticated');
  });
});
