import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { sql } from 'kysely';
import { createCodecServer } from '../../src/api/codec/server.ts';
import { MAX_CODEC_BODY_BYTES } from '../../src/domain/common/limits.ts';
import { createRateLimiter } from '../../src/domain/common/rate-limiter.ts';
import { isEncrypted } from '../../src/security/payload-codec.ts';
import { toJson, toPayload, type JsonPayload } from '../../src/api/codec/payloads.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import { eventually } from '../support/eventually.ts';
import { beginRequest } from '../support/late-body.ts';
import { services } from '../support/services.ts';
import { addPerson } from '../support/people.ts';
import { PASSWORD, type Received, useOwnWorld, useWorld } from '../support/world.ts';

const UI = 'http://localhost:8233';
const TOKEN = 'a-token-of-more-than-32-characters-for-the-cli';

describe('the codec server', function () {
  const world = useOwnWorld({
    environment: {
      BATON_PAYLOAD_KEYS: `k1:${Buffer.alloc(32, 3).toString('base64')}`,
      BATON_CODEC_TOKEN: TOKEN,
      TEMPORAL_UI_URL: UI,
    },
  });
  let owner: string;
  let connection: NativeConnection;
  before(async () => {
    connection = await NativeConnection.connect({ address: services().temporalAddress });
    owner = await world.signIn();
  });
  after(() => connection.close());

  const call = (work: string, payloads: unknown, headers: Record<string, string>): Promise<Received> =>
    world.send('POST', `/codec/${work}`, { key: null, body: { payloads }, headers });
  const byToken = { Authorization: `Bearer ${TOKEN}` };
  const inTheUi = (cookie: string) => ({ Origin: UI, Cookie: cookie, 'X-Namespace': 'default' });

  /** Returns the encrypted input of a run from its history. */
  async function encryptedInput(): Promise<JsonPayload[]> {
    const { json } = await world.submit({ metadata: { rehearsal: { step_ms: 0, steps: 7 } } });
    await world.reaches(json.execution_id, 'completed');
    const { workflow } = new Client({ connection, namespace: services().namespace });
    const { events } = await workflow.getHandle(json.execution_id).fetchHistory();
    const encrypted = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    assert.ok(encrypted.length > 0 && encrypted.every((payload) => isEncrypted(payload)));
    return encrypted.map((payload) => toJson(payload));
  }
  const readable = ({ json }: Received) =>
    json.payloads.map((one: JsonPayload) => Buffer.from(one.data ?? '', 'base64').toString());

  it('decrypts payloads for an admin in the Web UI', async () => {
    const encrypted = await encryptedInput();
    const received = await call('decode', encrypted, inTheUi(owner));
    assert.equal(received.status, 200);
    assert.equal(received.headers.get('access-control-allow-origin'), UI);
    assert.equal(received.headers.get('access-control-allow-credentials'), 'true');
    assert.equal(JSON.parse(readable(received)[0]).rehearsal.steps, 7);
  });

  it('decrypts and encrypts payloads for the command line with the token', async () => {
    const encrypted = await encryptedInput();
    assert.equal(JSON.parse(readable(await call('decode', encrypted, byToken))[0]).rehearsal.steps, 7);
    const plain = {
      metadata: { encoding: 'anNvbi9wbGFpbg==' },
      data: Buffer.from('"go"').toString('base64'),
    };
    const { json } = await call('encode', [plain], byToken);
    assert.ok(isEncrypted(toPayload(json.payloads[0])));
    assert.deepEqual((await call('decode', json.payloads, byToken)).json.payloads, [plain]);
  });

  it('returns payloads unchanged if they are unencrypted or their key is unknown', async () => {
    const [encrypted] = await encryptedInput();
    const foreign = {
      ...encrypted,
      metadata: { ...encrypted?.metadata, 'encryption-key-id': Buffer.from('k9').toString('base64') },
    };
    const clear = { metadata: { encoding: 'anNvbi9wbGFpbg==' }, data: 'MQ==' };
    const { json } = await call('decode', [foreign, clear], byToken);
    assert.deepEqual(json.payloads, [foreign, clear]);
  });

  it('allows preflight requests of the Web UI only', async () => {
    const ask = (origin: string) =>
      world.send('OPTIONS', '/codec/decode', {
        key: null,
        headers: {
          Origin: origin,
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'content-type,x-namespace',
        },
      });
    const allowed = await ask(UI);
    assert.equal(allowed.status, 204);
    assert.equal(allowed.headers.get('access-control-allow-origin'), UI);
    assert.match(allowed.headers.get('access-control-allow-headers') ?? '', /content-type/i);
    assert.equal((await ask('https://evil.example.com')).headers.get('access-control-allow-origin'), null);
  });

  it('requires a session of an admin or the token', async () => {
    const encrypted = await encryptedInput();
    const member = await addPerson(world, owner, 'member');
    const key = { 'X-API-Key': world.installation.api_key };
    const refused: [what: string, headers: Record<string, string>, status: number][] = [
      ['no credentials', {}, 401],
      ['a wrong token', { Authorization: `Bearer ${TOKEN}x` }, 401],
      ['an API key', key, 401],
      ['an invalid session', inTheUi('baton_session=wrong'), 401],
      ['a member', inTheUi(member), 403],
      ['another origin', { ...inTheUi(owner), Origin: 'https://evil.example.com' }, 403],
      ['no origin', { Cookie: owner }, 403],
    ];
    for (const [what, headers, status] of refused) {
      const received = await call('decode', encrypted, headers);
      assert.equal(received.status, status, what);
      assert.doesNotMatch(received.text, /rehearsal/);
    }
    assert.ok(!world.logged().includes(TOKEN));
  });

  it('decrypts nothing if the session ends before the end of the body', async () => {
    const payloads = await encryptedInput();
    const email = 'late-admin@example.com';
    const person = { email, role: 'admin', password: PASSWORD };
    const { json: member } = await world.send('POST', '/api/v1/members', {
      ...world.as(owner),
      body: person,
    });
    const headers = inTheUi(await world.signIn(email));
    const end = beginRequest(`${world.api.url}/codec/decode`, { payloads }, headers);
    await eventually('the session is used', async () => {
      const { rows } = await sql`
        select from sessions where user_id = ${member.id as string}::uuid and last_seen_at > created_at
      `.execute(queryBuilderOf(world.database));
      return rows.length > 0;
    });
    await world.send('DELETE', `/api/v1/members/${member.id}`, world.as(owner));
    assert.equal(await end(), 401);
  });

  it('returns the error code of an invalid request', async () => {
    const send = (raw: string) =>
      world.send('POST', '/codec/decode', {
        key: null,
        raw,
        headers: { ...byToken, 'Content-Type': 'application/json' },
      });
    assert.equal((await send('{')).json.code, 'malformed_json');
    for (const raw of ['null', '{}', '{"payloads":[1]}', '{"payloads":[{"metadata":{"a":1}}]}']) {
      assert.equal((await send(raw)).json.code, 'bad_request', raw);
    }
    assert.equal((await world.send('GET', '/codec/decode', { key: null })).status, 405);
    assert.equal((await world.send('POST', '/codec/other', { key: null })).status, 404);
  });
});

describe('the codec server without payload keys', () => {
  const world = useWorld();

  it('returns 404', async () => {
    assert.equal((await world.send('POST', '/codec/decode', { key: null, body: {} })).status, 404);
  });
});

describe('a request to the codec server', () => {
  /** Creates a server that accepts `perAddress` requests of an address. Returns a function that sends it one. */
  function decoding({ token, perAddress }: { token: string | null; perAddress: number }) {
    const limit = { name: 'address', perSecond: perAddress, burst: perAddress };
    const serve = createCodecServer({
      codec: { payloads: {}, token },
      limiters: { address: createRateLimiter(limit, () => new Date(0)) },
      temporalUi: null,
      baseUrl: 'http://localhost',
      database: null,
    } as unknown as Parameters<typeof createCodecServer>[0]);
    return async (request: object): Promise<void> => {
      const context = {
        path: '/codec/decode',
        method: 'POST',
        ip: '192.0.2.1',
        get: () => '',
        set() {},
        vary() {},
        ...request,
      };
      await serve(context as never, () => assert.fail('the path is unknown'));
    };
  }

  it('counts towards the limit by address, before the session is read', async () => {
    const send = decoding({ token: null, perAddress: 1 });
    const request = { cookies: { get: () => undefined } };
    await assert.rejects(send(request), { code: 'unauthenticated' });
    await assert.rejects(send(request), { code: 'rate_limited' });
  });

  it('is refused if its body is larger than 16 MiB', async () => {
    const send = decoding({ token: TOKEN, perAddress: 9 });
    const request = (bytes: number) => ({
      req: Object.assign(Readable.from([Buffer.alloc(bytes, 'x')]), { headers: {}, complete: true }),
      get: (name: string) => (name === 'Authorization' ? `Bearer ${TOKEN}` : ''),
    });
    await assert.rejects(send(request(MAX_CODEC_BODY_BYTES + 1)), { code: 'payload_too_large' });
    await assert.rejects(send(request(MAX_CODEC_BODY_BYTES)), { code: 'malformed_json' });
  });
});
