import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { assertProblem } from './problems.ts';
import { addPersonElsewhere, addWorkspace } from '../support/people.ts';
import { PASSWORD, useOwnWorld, useWorld } from '../support/world.ts';

describe('signing in', () => {
  const world = useOwnWorld({ worker: false });

  const signIn = (email: string, password: string, headers: Record<string, string> = {}) =>
    world.send('POST', '/api/v1/session', { key: null, body: { email, password }, headers });

  it('sets an HttpOnly cookie with SameSite=Lax', async () => {
    const received = await signIn('OWNER@example.com ', PASSWORD);
    assert.equal(received.status, 201);
    assert.match(
      received.headers.get('set-cookie') ?? '',
      /^baton_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/,
    );
    assert.equal(received.json.role, 'owner');
    assert.equal(received.headers.get('cache-control'), 'no-store');
  });

  it('returns the same error for a wrong password and an unknown user', async () => {
    const wrong = await signIn('owner@example.com', 'wrong');
    const unknown = await signIn('unknown@example.com', 'wrong');
    for (const received of [wrong, unknown]) assertProblem(received, 401, 'unauthenticated');
    assert.equal(wrong.json.detail, unknown.json.detail);
  });

  it('returns 403 for a foreign Origin', async () => {
    const received = await signIn('owner@example.com', PASSWORD, { Origin: 'https://evil.example.com' });
    assertProblem(received, 403, 'forbidden');
  });

  it('creates a session that lasts until the user signs out', async () => {
    const cookie = await world.signIn();
    const read = () => world.send('GET', '/api/v1/session', { cookie });
    const { user, workspace, role, expires_at: expires } = (await read()).json;
    assert.deepEqual([user.email, role], ['owner@example.com', 'owner']);
    assert.deepEqual(workspace, { id: world.installation.workspace_id, name: 'Test' });
    assert.ok(Date.parse(expires) > Date.now());
    const out = await world.send('DELETE', '/api/v1/session', world.as(cookie));
    assert.equal(out.status, 204);
    assert.match(out.headers.get('set-cookie') ?? '', /Max-Age=0/);
    assertProblem(await read(), 401, 'unauthenticated');
  });

  it('creates sessions that can be listed, and ended from another session', async () => {
    const [here, there] = [await world.signIn(), await world.signIn()];
    const { json } = await world.send('GET', '/api/v1/sessions', { cookie: here });
    const current = json.data.filter((session: { current: boolean }) => session.current);
    assert.equal(current.length, 1);
    const { json: other } = await world.send('GET', '/api/v1/sessions', { cookie: there });
    const id = other.data.find((session: { current: boolean }) => session.current).id;
    assert.equal((await world.send('DELETE', `/api/v1/sessions/${id}`, world.as(here))).status, 204);
    assertProblem(await world.send('GET', '/api/v1/session', { cookie: there }), 401, 'unauthenticated');
    assertProblem(await world.send('DELETE', `/api/v1/sessions/${id}`, world.as(here)), 404, 'not_found');
  });

  it('is required for operations that keys cannot perform', async () => {
    assertProblem(await world.send('GET', '/api/v1/keys'), 403, 'forbidden');
    assertProblem(await world.send('GET', '/api/v1/session'), 403, 'forbidden');
    assertProblem(await world.send('GET', '/api/v1/session', { key: null }), 401, 'unauthenticated');
  });

  it('returns 429 after too many attempts from one IP address', async () => {
    const attempt = (count: number) => signIn(`unknown-${count}@example.com`, 'x');
    const all = await Promise.all(Array.from({ length: 30 }, (_, count) => attempt(count)));
    const last = all.find(({ status }) => status === 429);
    assert.ok(last);
    assertProblem(last, 429, 'rate_limited');
    assert.ok(Number(last.headers.get('retry-after')) >= 1);
    assert.equal((await world.send('GET', '/api/v1/tasks')).status, 200, 'API keys are not limited');
  });
});

describe('changes with a session cookie', () => {
  const world = useWorld();
  let cookie: string;
  before(async () => {
    cookie = await world.signIn();
  });

  const submit = (headers: Record<string, string>) => world.submit({}, { cookie, headers });

  it('require the Origin of the service', async () => {
    assertProblem(await submit({}), 403, 'forbidden');
    assertProblem(await submit({ Origin: 'https://evil.example.com' }), 403, 'forbidden');
    assertProblem(await submit({ Origin: 'null' }), 403, 'forbidden');
    assert.equal((await submit({ Origin: world.api.url })).status, 201);
  });

  it('can create tokens for a project of the workspace', async () => {
    const make = (body: object) => world.send('POST', '/api/v1/tokens', { ...world.as(cookie), body });
    const { status, json } = await make({ project_id: world.installation.project_id });
    assert.equal(status, 201);
    assert.equal((await world.send('GET', '/api/v1/tasks', { token: json.token })).status, 200);
    assertProblem(await make({}), 422, 'validation_failed');
    const { json: foreign } = await world.send('GET', '/api/v1/projects', { key: await addWorkspace(world) });
    for (const project_id of [foreign.data[0].id, '00000000-0000-7000-8000-000000000000']) {
      assertProblem(await make({ project_id }), 403, 'project_not_allowed');
    }
  });
});

describe('members', () => {
  const world = useWorld();
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });

  const add = (cookie: string, body: object) =>
    world.send('POST', '/api/v1/members', { ...world.as(cookie), body });
  const member = async (role: string) => {
    const email = `${role}-${randomUUID()}@example.com`;
    const { json } = await add(owner, { email, role, password: PASSWORD });
    return { id: json.id as string, cookie: await world.signIn(email) };
  };

  it('are added with a password that is returned once', async () => {
    const email = `new.person-${randomUUID()}@example.com`;
    const { status, json } = await add(owner, { email: email.toUpperCase(), role: 'viewer' });
    assert.equal(status, 201);
    assert.equal(json.email, email);
    assert.ok(await world.signIn(email, json.initial_password));
    const { text } = await world.send('GET', '/api/v1/members', { cookie: owner });
    assert.ok(!text.includes(json.initial_password));
    assertProblem(await add(owner, { email, role: 'admin' }), 409, 'conflict');
    assertProblem(
      await add(owner, { email: 'unknown', role: 'king', password: 'short' }),
      422,
      'validation_failed',
    );
  });

  it('are added with a given password, which is not returned', async () => {
    const email = `given-${randomUUID()}@example.com`;
    const { json } = await add(owner, { email, role: 'viewer', password: PASSWORD });
    assert.equal(json.initial_password, null);
    assert.equal(json.name, email.split('@')[0], 'the default name is the part before @');
  });

  it('are listed in pages, the newest person first', async () => {
    const added: string[] = [];
    for (let count = 0; count < 3; count += 1) added.unshift((await member('viewer')).id);
    const list = async (query: string) =>
      (await world.send('GET', `/api/v1/members?${query}`, { cookie: owner })).json;
    const listed: string[] = [];
    let cursor: string | null = null;
    do {
      const page = await list(cursor === null ? 'limit=2' : `limit=2&cursor=${cursor}`);
      assert.ok(page.data.length === 2 || page.next_cursor === null);
      listed.push(...page.data.map(({ id }: { id: string }) => id));
      cursor = page.next_cursor;
    } while (cursor !== null);
    assert.deepEqual(listed.slice(0, 3), added);
    const all = (await list('limit=100')).data.map(({ id }: { id: string }) => id);
    assert.deepEqual(listed, all);
  });

  it('have the permissions of their role', async () => {
    const roles = ['viewer', 'member', 'admin'] as const;
    const people = Object.fromEntries(
      await Promise.all(roles.map(async (role) => [role, await member(role)] as const)),
    );
    const allowed: Record<string, readonly string[]> = {
      read: roles,
      submit: ['member', 'admin'],
      key: ['admin'],
    };
    for (const role of roles) {
      const cookie = people[role]?.cookie ?? '';
      const outcomes = {
        read: (await world.send('GET', '/api/v1/tasks', { cookie })).status,
        submit: (await world.submit({}, world.as(cookie))).status,
        key: (await world.send('GET', '/api/v1/keys', { cookie })).status,
      };
      for (const [what, status] of Object.entries(outcomes)) {
        assert.equal(status < 400, allowed[what]?.includes(role), `${role} ${what}: ${status}`);
      }
    }
  });

  it('can be changed and removed, owners only by owners, and the last owner not at all', async () => {
    const { json: me } = await world.send('GET', '/api/v1/me', { cookie: owner });
    const admin = await member('admin');
    const change = (cookie: string, id: string, role: string) =>
      world.send('PATCH', `/api/v1/members/${id}`, { ...world.as(cookie), body: { role } });
    const remove = (cookie: string, id: string) =>
      world.send('DELETE', `/api/v1/members/${id}`, world.as(cookie));
    assertProblem(await change(owner, me.user.id, 'admin'), 409, 'conflict');
    assertProblem(await remove(owner, me.user.id), 409, 'conflict');
    assertProblem(await change(admin.cookie, me.user.id, 'viewer'), 403, 'forbidden');
    assertProblem(await remove(admin.cookie, me.user.id), 403, 'forbidden');
    assertProblem(await change(admin.cookie, admin.id, 'owner'), 403, 'forbidden');
    assert.equal((await change(owner, admin.id, 'owner')).json.role, 'owner');
    assert.equal((await change(admin.cookie, me.user.id, 'admin')).json.role, 'admin');
    assert.equal((await change(admin.cookie, me.user.id, 'owner')).json.role, 'owner');
    assert.equal((await remove(owner, admin.id)).status, 204);
    assertProblem(await world.send('GET', '/api/v1/tasks', { cookie: admin.cookie }), 401, 'unauthenticated');
    assertProblem(await remove(owner, admin.id), 404, 'not_found');
  });

  it('get a new password if they are added again after their removal', async () => {
    const removed = await member('viewer');
    const { json } = await world.send('GET', '/api/v1/session', { cookie: removed.cookie });
    const { email } = json.user;
    await world.send('DELETE', `/api/v1/members/${removed.id}`, world.as(owner));
    const again = await world.send('POST', '/api/v1/members', {
      ...world.as(owner),
      body: { email, role: 'owner', password: 'the password of a new holder' },
    });
    assert.deepEqual([again.status, again.json.id], [201, removed.id]);
    await assert.rejects(world.signIn(email), /is wrong/);
    assert.ok(await world.signIn(email, 'the password of a new holder'));
    await world.send('DELETE', `/api/v1/members/${removed.id}`, world.as(owner));
    const body = { email, role: 'viewer' };
    const generated = await world.send('POST', '/api/v1/members', { ...world.as(owner), body });
    assert.ok(await world.signIn(email, generated.json.initial_password));
  });

  it('of another workspace are not added: an admin there may know the password', async () => {
    const known = 'a password that another admin set';
    const { email, id } = await addPersonElsewhere(world, known);
    for (const body of [
      { email, role: 'admin' },
      { email: email.toUpperCase(), role: 'viewer', password: PASSWORD },
    ]) {
      const refused = await add(owner, body);
      assertProblem(refused, 409, 'conflict');
      assert.equal(
        refused.json.detail,
        `${email} has an account in another workspace. Send an invitation instead.`,
      );
    }
    const { text } = await world.send('GET', '/api/v1/members?limit=200', { cookie: owner });
    assert.ok(!text.includes(id));
    const cookie = await world.signIn(email, known);
    const { json } = await world.send('GET', '/api/v1/tasks', { cookie });
    assert.deepEqual(json.data, [], 'the person is still a member of the other workspace only');
    const invite = { ...world.as(owner), body: { email, role: 'viewer' } };
    const invited = await world.send('POST', '/api/v1/invitations', invite);
    const token = new URL(invited.json.url).hash.slice(1);
    const joined = await world.send('POST', '/api/v1/invitations/join', {
      ...world.as(cookie),
      body: { token },
    });
    assert.equal(joined.status, 200);
  });

  it('are recorded in the audit log, without passwords', async () => {
    const { json, text } = await world.send('GET', '/api/v1/audit-log?limit=200', { cookie: owner });
    const actions = new Set(json.data.map((entry: { action: string }) => entry.action));
    for (const action of [
      'installation.created',
      'session.started',
      'member.added',
      'member.role_changed',
      'member.removed',
    ]) {
      assert.ok(actions.has(action), action);
    }
    assert.ok(!text.includes(PASSWORD));
    const first = await world.send('GET', '/api/v1/audit-log?limit=2', { cookie: owner });
    assert.deepEqual(first.json.data, json.data.slice(0, 2));
    const second = await world.send('GET', `/api/v1/audit-log?limit=2&cursor=${first.json.next_cursor}`, {
      cookie: owner,
    });
    assert.deepEqual(second.json.data, json.data.slice(2, 4));
  });
});

describe('projects', () => {
  const world = useWorld();
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });

  it('are created with a unique key', async () => {
    const make = (body: object) => world.send('POST', '/api/v1/projects', { ...world.as(owner), body });
    const { status, json } = await make({ name: 'Second thing' });
    assert.equal(status, 201);
    assert.equal(json.key, 'SECONDTHIN');
    assertProblem(await make({ name: 'Other', key: 'SECONDTHIN' }), 409, 'conflict');
    assertProblem(await make({ name: 'Other', key: 'lower' }), 422, 'validation_failed');
    const { json: all } = await world.send('GET', '/api/v1/projects', { cookie: owner });
    assert.deepEqual(
      all.data.map((project: { key: string }) => project.key),
      ['SECONDTHIN', 'FIRST'],
    );
    const { json: own } = await world.send('GET', '/api/v1/projects');
    assert.deepEqual(
      own.data.map((project: { key: string }) => project.key),
      ['FIRST'],
      'an API key can list only its own project',
    );
  });

  it('are all accessible to the users of the workspace', async () => {
    const { json: projects } = await world.send('GET', '/api/v1/projects', { cookie: owner });
    for (const project of projects.data) {
      const { status } = await world.submit({ project_id: project.id }, world.as(owner));
      assert.equal(status, 201);
    }
    const { json } = await world.send('GET', '/api/v1/tasks', { cookie: owner });
    assert.equal(json.data.length, 2);
    const { json: some } = await world.send('GET', `/api/v1/tasks?project_id=${projects.data[0].id}`, {
      cookie: owner,
    });
    assert.equal(some.data.length, 1);
  });
});
