import assert from 'node:assert/strict';
import { addPerson } from '../support/people.ts';
import { assertProblem } from './problems.ts';
import { PASSWORD, useWorld } from '../support/world.ts';

describe('sessions', () => {
  const world = useWorld();
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });

  const me = (cookie: string) => world.send('GET', '/api/v1/session', { cookie });
  const list = async (cookie: string) => (await world.send('GET', '/api/v1/sessions', { cookie })).json.data;

  it('can all be ended except the current one, without those of other users', async () => {
    const here = await addPerson(world, owner, 'viewer');
    const { email } = (await me(here)).json.user;
    const others = [await world.signIn(email), await world.signIn(email)];
    assert.equal((await list(here)).length, 3);
    const ended = await world.send('DELETE', '/api/v1/sessions', world.as(here));
    assert.deepEqual([ended.status, ended.json], [200, { ended: 2 }]);
    for (const other of others) assertProblem(await me(other), 401, 'unauthenticated');
    assert.deepEqual(
      (await list(here)).map((session: { current: boolean }) => session.current),
      [true],
    );
    assert.equal((await me(owner)).status, 200);
    const again = await world.send('DELETE', '/api/v1/sessions', world.as(here));
    assert.deepEqual(again.json, { ended: 0 });
    const { json } = await world.send('GET', '/api/v1/audit-log', { cookie: owner });
    assert.deepEqual([json.data[0].action, json.data[0].detail], ['session.others_ended', { count: 2 }]);
  });

  it('of other users cannot be ended, and return 404', async () => {
    const other = await addPerson(world, owner, 'viewer');
    const [session] = await list(other);
    const refused = await world.send('DELETE', `/api/v1/sessions/${session.id}`, world.as(owner));
    assertProblem(refused, 404, 'not_found');
    assert.equal((await me(other)).status, 200);
  });

  it('are listed with IP address and user agent, without the cookie', async () => {
    const cookie = await addPerson(world, owner, 'viewer');
    const { text } = await world.send('GET', '/api/v1/sessions', { cookie });
    assert.ok(!text.includes(cookie.split('=')[1] ?? ''));
    const [session] = await list(cookie);
    assert.match(session.address, /127\.0\.0\.1|::1/);
    assert.equal(typeof session.user_agent, 'string');
  });

  it('have the permissions of the current role, and end with the membership', async () => {
    const cookie = await addPerson(world, owner, 'viewer');
    const { id } = (await me(cookie)).json.user;
    const { json: made } = await world.send('POST', '/api/v1/tokens', {
      ...world.as(cookie),
      body: { project_id: world.installation.project_id },
    });
    const token: string = made.token;
    const submit = async () => [
      (await world.submit({}, world.as(cookie))).status,
      (await world.submit({}, { token })).status,
    ];
    const setRole = (role: string) =>
      world.send('PATCH', `/api/v1/members/${id}`, { ...world.as(owner), body: { role } });
    assert.deepEqual(await submit(), [403, 403]);
    await setRole('member');
    assert.deepEqual(await submit(), [201, 403], 'a token never allows more than at its creation');
    await setRole('viewer');
    assert.deepEqual(await submit(), [403, 403]);
    await world.send('DELETE', `/api/v1/members/${id}`, world.as(owner));
    assertProblem(await me(cookie), 401, 'unauthenticated');
    assertProblem(await world.send('GET', '/api/v1/tasks', { token }), 401, 'unauthenticated');
  });

  for (const [what, end] of [
    ['they are ended', (cookie: string) => world.send('DELETE', '/api/v1/session', world.as(cookie))],
    [
      'the password changes',
      (cookie: string) =>
        world.send('PUT', '/api/v1/me/password', {
          ...world.as(cookie),
          body: { current_password: PASSWORD, new_password: 'quite another password' },
        }),
    ],
  ] as const) {
    it(`invalidate their tokens and close their event streams when ${what}`, async () => {
      const cookie = await addPerson(world, owner, 'member');
      const { json: made } = await world.send('POST', '/api/v1/tokens', {
        ...world.as(cookie),
        body: { project_id: world.installation.project_id },
      });
      const { json: run } = await world.submit({ metadata: { rehearsal: { steps: 1, step_ms: 600_000 } } });
      const path = `/api/v1/tasks/${run.execution_id}`;
      const accept = { Accept: 'text/event-stream' };
      const streams = [
        world.send('GET', `${path}/events`, { cookie, headers: accept }),
        world.send('GET', `${path}/events`, { token: made.token, headers: accept }),
      ];
      assert.equal((await world.send('GET', path, { token: made.token })).status, 200);
      assert.ok((await end(cookie)).status < 300);
      assertProblem(await world.send('GET', path, { token: made.token }), 401, 'unauthenticated');
      for (const { text } of await Promise.all(streams)) assert.ok(!text.includes('run.ended'));
      await world.send('POST', `${path}/cancel`);
    });
  }

  it('end if they are not used for three days', async () => {
    const cookie = await addPerson(world, owner, 'viewer');
    const { id } = (await list(cookie))[0];
    const unusedFor = (hours: number) =>
      world.database.em
        .fork()
        .execute(`update sessions set last_seen_at = now() - interval '${hours} hours' where id = ?`, [id]);
    await unusedFor(71);
    assert.equal((await me(cookie)).status, 200);
    await unusedFor(73);
    assertProblem(await me(cookie), 401, 'unauthenticated');
  });

  it('allow changes with another Origin if Sec-Fetch-Site is same-origin', async () => {
    const sent = (site: string) => ({
      cookie: owner,
      headers: { Origin: 'https://inner.example.com', 'Sec-Fetch-Site': site },
      body: {},
    });
    const change = (site: string) => world.send('POST', '/api/v1/projects', sent(site));
    assertProblem(await change('same-origin'), 422, 'validation_failed');
    for (const site of ['same-site', 'cross-site', 'none'])
      assertProblem(await change(site), 403, 'forbidden');
  });

  it('return 403 for every change with a foreign Origin', async () => {
    const { json: document } = await world.send('GET', '/api/v1/openapi.json');
    const id = '00000000-0000-7000-8000-000000000000';
    let tried = 0;
    for (const [path, operations] of Object.entries<Record<string, { security: object[] }>>(document.paths)) {
      for (const [method, { security }] of Object.entries(operations)) {
        if (method === 'get' || !security.some((way) => 'session' in way)) continue;
        tried += 1;
        for (const headers of [{}, { Origin: 'https://evil.example.com' }, { Origin: 'null' }]) {
          const sent = { cookie: owner, headers: headers as Record<string, string>, body: {} };
          const received = await world.send(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, id), sent);
          assert.equal(`${method} ${path} ${received.status}`, `${method} ${path} 403`);
          assert.match(received.json.detail, /Origin/);
        }
      }
    }
    assert.ok(tried > 20, `${tried} operations`);
    assert.equal((await me(owner)).status, 200);
  });
});
