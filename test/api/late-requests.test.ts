import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { queryBuilderOf } from '../../src/database/database.ts';
import { eventually } from '../support/eventually.ts';
import { beginRequest } from '../support/late-body.ts';
import { PASSWORD, type Sent, useWorld } from '../support/world.ts';

describe('a request that is admitted before its credential ends', () => {
  const world = useWorld();
  let owner: Sent;
  before(async () => {
    owner = world.as(await world.signIn());
  });

  /** Creates a key that was never used. */
  const newKey = async () => {
    const body = { name: 'Late', project_id: world.installation.project_id };
    const { json } = await world.send('POST', '/api/v1/keys', { ...owner, body });
    return json as { id: string; key: string };
  };
  const revoke = ({ id }: { id: string }) => world.send('DELETE', `/api/v1/keys/${id}`, owner);
  const isUsed = async ({ id }: { id: string }) => {
    const { json } = await world.send('GET', '/api/v1/keys', owner);
    return json.data.find((one: { id: string }) => one.id === id).last_used_at !== null;
  };

  const begin = (path: string, body: object, headers: Record<string, string>) =>
    beginRequest(`${world.api.url}${path}`, body, headers);

  const version = { 'A2A-Version': '1.0' };
  const accepts = { Accept: 'application/json, text/event-stream' };
  for (const [what, path, body, headers] of [
    ['the API', '/api/v1/tasks', { title: 'Late', project_id: '' }, {}],
    ['MCP', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, accepts],
    ['A2A over JSON-RPC', '/a2a', { jsonrpc: '2.0', id: 1, method: 'ListTasks' }, version],
    ['A2A over HTTP', '/a2a/message:send', { message: {} }, version],
  ] as const) {
    it(`is refused by ${what} if the key is revoked before the end of the body`, async () => {
      const key = await newKey();
      const end = begin(path, body, { 'X-API-Key': key.key, ...headers });
      await eventually('the key is used', () => isUsed(key));
      await revoke(key);
      assert.equal(await end(), 401);
    });
  }

  for (const [what, leave, status] of [
    ['is removed', (id: string) => world.send('DELETE', `/api/v1/members/${id}`, owner), 401],
    [
      'is not an admin anymore',
      (id: string) => world.send('PATCH', `/api/v1/members/${id}`, { ...owner, body: { role: 'member' } }),
      403,
    ],
  ] as const) {
    it(`is refused if its person ${what} before the end of the body`, async () => {
      const email = `late-${status}-${world.installation.workspace_id}@example.com`;
      const person = { email, role: 'admin', password: PASSWORD };
      const { json: member } = await world.send('POST', '/api/v1/members', { ...owner, body: person });
      const { cookie = '', headers } = world.as(await world.signIn(email));
      const body = { email: `friend-of-${email}`, role: 'admin', password: PASSWORD };
      const end = begin('/api/v1/members', body, { ...headers, Cookie: cookie });
      await eventually('the session is used', async () => {
        const { rows } = await sql`
          select from sessions where user_id = ${member.id as string}::uuid and last_seen_at > created_at
        `.execute(queryBuilderOf(world.database));
        return rows.length > 0;
      });
      await leave(member.id);
      assert.equal(await end(), status);
    });
  }

  it('gets no result of a wait after its key is revoked', async () => {
    const key = await newKey();
    const { json: run } = await world.submit({ metadata: { rehearsal: { plan_ms: 600_000 } } });
    await world.reaches(run.execution_id, 'planning');
    const path = `/api/v1/tasks/${run.execution_id}`;
    const waiting = world.send('GET', path, { key: key.key, headers: { Prefer: 'wait=60' } });
    await eventually('the key is used', () => isUsed(key));
    await revoke(key);
    await world.send('POST', `${path}/cancel`);
    assert.equal((await waiting).status, 401);
  });

  it('gets no result of a wait over A2A after its key is revoked', async () => {
    const key = await newKey();
    const text = `Late ${key.id}`;
    const message = { messageId: key.id, role: 'ROLE_USER', parts: [{ text }] };
    const params = { message, metadata: { rehearsal: { plan_ms: 600_000 } } };
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params };
    const waiting = world.send('POST', '/a2a', { key: key.key, body, headers: version });
    const run = await eventually('the run is planning', async () => {
      const { json } = await world.send('GET', '/api/v1/tasks?state=planning');
      return json.data.find((one: { title: string }) => one.title === text) ?? null;
    });
    await revoke(key);
    await world.send('POST', `/api/v1/tasks/${run.execution_id}/cancel`);
    const { status, text: answer } = await waiting;
    assert.equal(status, 401);
    assert.ok(!answer.includes(run.execution_id));
  });
});
