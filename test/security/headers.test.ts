import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { pino } from 'pino';
import { ensureScreens } from '../../dev/launcher/web.ts';
import { startGateway } from '../../src/gateway/server.ts';
import { type Sent, type World, useOwnWorld } from '../support/world.ts';

/** The headers of every response. */
const ALWAYS: Readonly<Record<string, RegExp>> = {
  'x-content-type-options': /^nosniff$/,
  'x-frame-options': /^DENY$/,
  'referrer-policy': /^no-referrer$/,
  'cross-origin-resource-policy': /^same-origin$/,
  'cross-origin-opener-policy': /^same-origin$/,
  'permissions-policy': /^camera=\(\), microphone=\(\), geolocation=\(\)/,
  'content-security-policy': /frame-ancestors 'none'/,
};
/** Headers that would reveal the software or allow other origins. */
const NEVER = ['server', 'x-powered-by', 'access-control-allow-credentials', 'via', 'x-aspnet-version'];
/** Responses that can be cached, because they contain no private data. */
const CACHEABLE = /^\/(assets\/[\w-]+\.\w+|docs\/(swagger-ui|favicon)[\w.-]+)$/;
const OWN_ID = 'a-test-of-headers';

type Asked = { method: string; path: string; sent: Sent };

describe('the security headers', () => {
  before(async function () {
    this.timeout(120_000);
    await ensureScreens();
  });
  const world = useOwnWorld({
    environment: {
      BATON_PAYLOAD_KEYS: `p:${Buffer.alloc(32, 3).toString('base64')}`,
      SIGN_INS_PER_MINUTE: '1000',
    },
  });
  let cookie: string;
  before(async () => {
    cookie = await world.signIn();
  });

  it('are in every response of every operation', async () => {
    const statuses = new Set<number>();
    let asked = 0;
    for (const { method, path, sent } of await everyOperation(world, cookie)) {
      const { status, headers } = await world.send(method, path, sent);
      assertGuarded(`${method} ${path} ${status}`, path, headers);
      assert.equal(headers.get('x-request-id'), OWN_ID, `${method} ${path} ${status}`);
      statuses.add(status);
      asked += 1;
    }
    assert.ok(asked > 250, `${asked} requests`);
    for (const status of [200, 201, 202, 204, 400, 401, 403, 404, 405, 406, 415, 422]) {
      assert.ok(statuses.has(status), `no response has status ${status}`);
    }
  });

  it('are in responses for pages, assets, documents and unknown paths', async () => {
    const page = await world.send('GET', '/', { key: null });
    const assets = [...page.text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? '');
    assert.ok(assets.length > 0);
    const docs = [
      '/docs',
      '/docs/channel',
      '/docs/swagger-ui.css',
      '/docs/page.js',
      '/docs/favicon-32x32.png',
    ];
    const others = ['/api/v1/openapi.json', '/asyncapi.json', '/problems/not_found', '/codec/decode', '/ws'];
    const none = ['/assets/none.js', '/nowhere', '/docs/nothing', '/api/v2/tasks', '/problems/none'];
    for (const path of ['/', '/sign-in', '/settings/keys', ...assets, ...docs, ...others, ...none]) {
      for (const accept of ['*/*', 'text/html']) {
        const { status, headers } = await world.send('GET', path, { key: null, headers: { Accept: accept } });
        assertGuarded(`${path} ${status}`, path, headers);
        if (!headers.get('content-type')?.startsWith('text/html')) continue;
        assertPolicyOfPage(path, headers.get('content-security-policy') ?? '');
      }
    }
  });

  it('are in event streams', async () => {
    const { json } = await world.submit();
    await world.reaches(json.execution_id, 'completed');
    const path = `/api/v1/tasks/${json.execution_id}/events`;
    const { status, headers } = await world.send('GET', path, { headers: { Accept: 'text/event-stream' } });
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
    assertGuarded(path, path, headers);
  });

  it('are in HTTP responses of the live channel, in the API and in a gateway', async () => {
    const gateway = await startGateway(world.configuration, pino({ level: 'silent' }));
    try {
      const paths = ['/ws', '/ws?EIO=4&transport=polling', '/ws?EIO=3&transport=nonsense'];
      for (const url of [world.api.url, gateway.url]) {
        for (const path of [...paths, '/health/live', '/health/ready', '/nothing']) {
          const { status, headers } = await fetch(`${url}${path}`);
          assertGuarded(`${url}${path} ${status}`, '/ws', headers);
        }
        const refusal = await upgradeRefused(url);
        assert.match(refusal, /^HTTP\/1\.1 401 /);
        assert.match(refusal, /\r\nCache-Control: no-store\r\n/);
        assert.match(refusal, /\r\nX-Content-Type-Options: nosniff\r\n/);
      }
    } finally {
      await gateway.close();
    }
  });
});

describe('the security headers of an HTTPS service', () => {
  const world = useOwnWorld({ worker: false, environment: { BASE_URL: 'https://baton.example.com' } });

  it('include Strict-Transport-Security', async () => {
    for (const path of ['/', '/api/v1/me', '/nothing', '/docs', '/ws', '/health/live']) {
      const { headers } = await world.send('GET', path, { key: null });
      assert.equal(headers.get('strict-transport-security'), 'max-age=31536000', path);
    }
  });

  it('set a Secure session cookie with the __Host- prefix', async () => {
    const body = { email: 'owner@example.com', password: 'a good long password' };
    const { headers } = await world.send('POST', '/api/v1/session', { key: null, body });
    const [value, ...attributes] = (headers.get('set-cookie') ?? '').split('; ');
    assert.match(value ?? '', /^__Host-baton_session=[\w-]{43}$/);
    const expected = ['HttpOnly', 'Max-Age=1209600', 'Path=/', 'SameSite=Lax', 'Secure'];
    assert.deepEqual(attributes.toSorted(), expected);
  });
});

/** Returns valid and invalid requests to every operation, without credentials, with a key and by an owner. */
async function everyOperation(world: World, cookie: string): Promise<Asked[]> {
  const { json } = await world.send('GET', '/api/v1/openapi.json', { key: null });
  const own = { 'X-Request-Id': OWN_ID };
  const owner: Sent = { key: null, cookie, headers: { ...own, Origin: world.api.url } };
  const project_id = world.installation.project_id;
  const right: Asked[] = [
    { method: 'POST', path: '/api/v1/tasks', sent: { headers: own, body: { title: 'One', project_id } } },
    { method: 'POST', path: '/api/v1/notifications/read-all', sent: owner },
    {
      method: 'POST',
      path: '/api/v1/events',
      sent: { ...owner, body: { event: 'issue.created', data: { issue: { id: '1' } } } },
    },
  ];
  // Signing out comes last, because it ends the session.
  const paths = Object.entries(json.paths as Record<string, object>).toSorted(([one], [other]) =>
    one.endsWith('/session') ? 1 : other.endsWith('/session') ? -1 : 0,
  );
  const wrong = paths.flatMap(([pattern, item]) => {
    const path = pattern.replaceAll(/\{\w+\}/g, randomUUID());
    const known = Object.keys(item).map((method) => method.toUpperCase());
    const asked = known
      .toSorted((one) => (one === 'DELETE' ? 1 : -1))
      .flatMap((method): Asked[] => {
        const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} };
        const plain = { ...owner.headers, 'Content-Type': 'text/plain' };
        const raw = method === 'GET' || method === 'DELETE' ? {} : { raw: 'x' };
        return [
          { method, path, sent: { key: null, headers: own, ...body } },
          { method, path, sent: { headers: own, ...body } },
          { method, path: `${path}?limit=none`, sent: { ...owner, ...body } },
          { method, path, sent: { ...owner, headers: plain, ...raw } },
          { method, path, sent: { headers: { ...own, Accept: 'image/png' }, ...body } },
        ];
      });
    return [...asked, { method: 'PUT', path, sent: { headers: own } }];
  });
  return [...right, ...wrong];
}

function assertGuarded(what: string, path: string, headers: Headers): void {
  for (const [name, form] of Object.entries(ALWAYS))
    assert.match(headers.get(name) ?? '', form, `${what}: ${name}`);
  for (const name of NEVER) assert.equal(headers.get(name), null, `${what}: ${name}`);
  const cache = headers.get('cache-control') ?? '';
  if (CACHEABLE.test(path)) assert.match(cache, /^(public, max-age=\d+(, immutable)?|no-store)$/, what);
  else assert.equal(cache, 'no-store', `${what}: cache-control`);
}

/** Asserts that a page can load nothing from other origins and execute no inline code. */
function assertPolicyOfPage(path: string, policy: string): void {
  assert.match(policy, /^default-src 'none'/, path);
  assert.ok(!/unsafe-|\*|https?:/.test(policy), `${path}: ${policy}`);
}

/** Returns the raw response to a WebSocket upgrade without a token. */
function upgradeRefused(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET /ws HTTP/1.1\r\nHost: ${hostname}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  return new Promise((resolve, reject) => {
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => (text += chunk));
    socket.once('end', () => resolve(text)).once('error', reject);
  });
}
