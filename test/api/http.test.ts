import assert from 'node:assert/strict';
import { assertProblem } from './problems.ts';
import { useOwnWorld, useWorld } from '../support/world.ts';
import { referencesIn } from './references.ts';

describe('a response', () => {
  const world = useWorld();

  it('has a request id, which is that of the caller if it is valid', async () => {
    const own = await world.send('GET', '/api/v1/me', { headers: { 'X-Request-Id': 'abc-123' } });
    assert.equal(own.headers.get('x-request-id'), 'abc-123');
    for (const strange of ['a b', 'x'.repeat(129), '"']) {
      const { headers } = await world.send('GET', '/api/v1/me', { headers: { 'X-Request-Id': strange } });
      assert.match(headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
    }
    const { json } = await world.send('GET', '/nothing', { headers: { 'X-Request-Id': 'abc-123' } });
    assert.equal(json.request_id, 'abc-123');
    assert.ok(world.logged().includes('"request_id":"abc-123"'));
  });

  it('has headers that prevent caching, sniffing and execution in browsers', async () => {
    for (const path of ['/api/v1/me', '/nothing', '/health/live']) {
      const { headers } = await world.send('GET', path);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/);
      assert.equal(headers.get('access-control-allow-origin'), null);
    }
  });

  it('contains the remaining rate limit', async () => {
    const { headers } = await world.send('GET', '/api/v1/me');
    assert.match(headers.get('ratelimit-policy') ?? '', /^"credential";q=1000;w=5$/);
    assert.match(headers.get('ratelimit') ?? '', /^"credential";r=\d+;t=\d+$/);
  });

  it('links a problem to its explanation', async () => {
    const { json } = await world.send('GET', '/nothing');
    const { status, text } = await world.send('GET', json.type);
    assert.equal(status, 200);
    assert.match(text, /not_found/);
    assert.equal((await world.send('GET', '/problems/toString')).status, 404);
  });

  it('causes no log line with credentials', async () => {
    await world.send('GET', `/api/v1/tasks?limit=5&token=${world.installation.api_key}`);
    assert.ok(!world.logged().includes(world.installation.api_key));
  });

  it('has no body if the method is HEAD', async () => {
    const { status, text } = await world.send('HEAD', '/api/v1/tasks');
    assert.equal(status, 200);
    assert.equal(text, '');
  });
});

describe('the rate limit', () => {
  const world = useOwnWorld({
    worker: false,
    environment: { RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '5' },
  });

  it('applies to a credential, and to an IP address without credentials', async () => {
    const flood = (key: string | null) =>
      Promise.all(Array.from({ length: 50 }, () => world.send('GET', '/api/v1/me', { key })));
    for (const [key, usual] of [
      [world.installation.api_key, 200],
      [null, 401],
    ] as const) {
      const received = await flood(key);
      assert.ok(received.filter(({ status }) => status === usual).length >= 5);
      const refused = received.find(({ status }) => status === 429);
      assert.ok(refused, 'some requests exceed the limit');
      assertProblem(refused, 429, 'rate_limited');
      assert.equal(refused.headers.get('retry-after'), '1');
    }
    const withWrongKey = await flood('bt_wrong');
    assert.ok(withWrongKey.some(({ status }) => status === 429));
    assert.equal((await world.send('GET', '/health/live', { key: null })).status, 200);
  });
});

describe('the public information', () => {
  const world = useWorld();

  it('includes liveness and readiness', async () => {
    assert.equal((await world.send('GET', '/health/live', { key: null })).json.status, 'live');
    const { status, json } = await world.send('GET', '/health/ready', { key: null });
    assert.equal(status, 200);
    const { waiting, ...others } = json;
    assert.deepEqual(others, {
      status: 'ready',
      checks: { postgres: { status: 'ok', reason: null }, temporal: { status: 'ok', reason: null } },
    });
    assert.deepEqual(Object.keys(waiting), ['tasks', 'events']);
  });

  it('includes a complete OpenAPI 3.1 document', async () => {
    const { json } = await world.send('GET', '/api/v1/openapi.json', { key: null });
    assert.match(json.openapi, /^3\.1\./);
    const operations: {
      operationId: string;
      responses: object;
      parameters?: { in: string; name: string }[];
    }[] = [];
    for (const [path, item] of Object.entries(
      json.paths as Record<string, Record<string, (typeof operations)[0]>>,
    )) {
      for (const operation of Object.values(item)) {
        operations.push(operation);
        const named = (operation.parameters ?? [])
          .filter((entry) => entry.in === 'path')
          .map((entry) => entry.name);
        const needed = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        assert.deepEqual(named, needed, path);
      }
    }
    assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
    for (const reference of referencesIn(json)) {
      const target = reference
        .slice(2)
        .split('/')
        .reduce((inner, part) => inner?.[part], json);
      assert.ok(target, reference);
    }
    assert.equal(json.components.schemas.TaskSubmission.properties.title.maxLength, 200);
  });

  it('includes API documentation without external resources', async () => {
    const page = await world.send('GET', '/docs', { key: null });
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
    const policy = page.headers.get('content-security-policy') ?? '';
    assert.ok(!/unsafe|https?:/.test(policy), policy);
    assert.ok(!/https?:\/\//.test(page.text));
    const files = [...page.text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, file]) => file ?? '');
    assert.ok(files.length >= 3);
    for (const file of files) assert.equal((await world.send('GET', file, { key: null })).status, 200, file);
  });
});
