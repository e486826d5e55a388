import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { assertProblem } from './problems.ts';
import { type Sent, useWorld } from '../support/world.ts';

/** Well-formed requests with unusual values. */
describe('an unusual request', () => {
  const world = useWorld();
  let owner: Sent;
  let webhook: string;
  before(async () => {
    owner = world.as(await world.signIn());
    const body = { name: 'One', url: 'http://127.0.0.1:9/', events: [{ event: 'issue.created' }] };
    webhook = (await world.send('POST', '/api/v1/webhooks', { ...owner, body })).json.id;
  });

  it('can contain times outside the storable range', async () => {
    const times = ['0000-01-01T00:00:00Z', '0212-07-26T12:28:10.9792+17:56', '9999-12-31T23:59:59-20:00'];
    for (const path of ['/api/v1/tasks', `/api/v1/webhooks/${webhook}/deliveries`]) {
      for (const name of ['created_after', 'created_before']) {
        for (const time of times) {
          const { status } = await world.send('GET', `${path}?${name}=${encodeURIComponent(time)}`, owner);
          assert.equal(status, 200, `${path} ${name} ${time}`);
        }
      }
    }
    for (const since of times) {
      const body = { since, count_only: true, statuses: ['skipped', 'held'] };
      const path = `/api/v1/webhooks/${webhook}/recover`;
      assert.equal((await world.send('POST', path, { ...owner, body })).status, 200, since);
    }
  });

  it('does not match a route with a slash at its end', async () => {
    const other = world.as(await world.signIn());
    for (const path of ['/api/v1/sessions/', `/api/v1/webhooks/${webhook}/`]) {
      assertProblem(await world.send('DELETE', path, owner), 404, 'not_found');
      assertProblem(await world.send('OPTIONS', path, owner), 404, 'not_found');
    }
    assert.equal((await world.send('GET', '/api/v1/me', other)).status, 200, 'the session continues');
    assert.equal((await world.send('GET', `/api/v1/webhooks/${webhook}`, owner)).status, 200);
  });

  it('is rejected with a metadata filter that contains NUL', async () => {
    for (const query of ['metadata.a=%00', 'metadata.%00=a']) {
      assertProblem(await world.send('GET', `/api/v1/tasks?${query}`), 400, 'bad_request');
    }
  });

  it('gets at most 1,000 errors', async () => {
    const names = Array.from({ length: 50_000 }, (_, index) => `unknown_${index}`);
    const body = { token: 'any', ...Object.fromEntries(names.map((name) => [name, 1])) };
    const refused = await world.send('POST', '/api/v1/invitations/look-up', { key: null, body });
    assertProblem(refused, 422, 'validation_failed');
    assert.equal(refused.json.errors.length, 1_000);
    assert.equal(refused.json.errors[0].pointer, '/unknown_0');
    assert.match(refused.json.detail, /^50000 errors in the body, the first 1000: `unknown_0` is not /);
  });

  it('can filter by at most 20 fields of the metadata, over MCP too', async () => {
    const names = Array.from({ length: 21 }, (_, index) => `metadata.f${index}`);
    const query = (count: number) =>
      names
        .slice(0, count)
        .map((name) => `${name}=1`)
        .join('&');
    assert.equal((await world.send('GET', `/api/v1/tasks?${query(20)}`)).status, 200);
    assertProblem(await world.send('GET', `/api/v1/tasks?${query(21)}`), 400, 'bad_request');
    const args = Object.fromEntries(names.map((name) => [name, '1']));
    const { text } = await world.send('POST', '/mcp', {
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'list_tasks', arguments: args },
      },
      headers: { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-06-18' },
    });
    assert.match(text, /at most 20 fields of the metadata/);
  });

  it('takes linear time with thousands of parameters', async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `p${index}`);
    const search = mock.method(URLSearchParams.prototype, 'getAll');
    const { status } = await world.send('GET', `/api/v1/openid/callback?${names.join('&')}`, { key: null });
    search.mock.restore();
    assert.equal(status, 302);
    assert.equal(search.mock.callCount(), 0);
  });

  it('can repeat a parameter', async () => {
    const query = 'state=completed&state=failed&state=cancelled';
    assert.equal((await world.send('GET', `/api/v1/tasks?${query}`)).status, 200);
    assertProblem(await world.send('GET', `/api/v1/tasks?${query}&state=none`), 400, 'bad_request');
  });

  it('is rejected with an email address that contains NUL', async () => {
    const body = { email: 'ada\u0000@example.com', password: 'any' };
    const refused = await world.send('POST', '/api/v1/session', { key: null, body });
    assertProblem(refused, 422, 'validation_failed');
    assert.equal(refused.json.errors[0].pointer, '/email');
  });

  it('can filter by a metadata string that looks like a number', async () => {
    const body = { title: 'One', project_id: world.installation.project_id, metadata: { code: '007' } };
    const { json } = await world.send('POST', '/api/v1/tasks', { body });
    const found = await world.send('GET', '/api/v1/tasks?metadata.code=007');
    assert.deepEqual(
      found.json.data.map((run: { execution_id: string }) => run.execution_id),
      [json.execution_id],
    );
    assert.equal((await world.send('GET', '/api/v1/tasks?metadata.code=-01')).json.data.length, 0);
  });

  it('returns 405 for an unknown method, even if a path parameter would match', async () => {
    for (const [method, path] of [
      ['PATCH', '/api/v1/webhooks/preview'],
      ['GET', '/api/v1/webhooks/preview'],
      ['DELETE', '/api/v1/invitations/join'],
    ] as const) {
      const refused = await world.send(method, path, owner);
      assertProblem(refused, 405, 'method_not_allowed');
      assert.equal(refused.headers.get('allow'), 'OPTIONS, POST');
    }
  });
});
