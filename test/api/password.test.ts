import assert from 'node:assert/strict';
import { addPerson } from '../support/people.ts';
import { assertProblem } from './problems.ts';
import { PASSWORD, useWorld } from '../support/world.ts';

const NEW = 'another good long password';

describe('changing a password', () => {
  const world = useWorld();
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });

  const change = (cookie: string, current: unknown, wanted: unknown) =>
    world.send('PUT', '/api/v1/me/password', {
      ...world.as(cookie),
      body: { current_password: current, new_password: wanted },
    });
  const emailOf = async (cookie: string) =>
    (await world.send('GET', '/api/v1/session', { cookie })).json.user.email as string;
  const isAlive = async (cookie: string) =>
    (await world.send('GET', '/api/v1/session', { cookie })).status === 200;

  it('ends all other sessions, and sets a new cookie for this one', async () => {
    const here = await addPerson(world, owner, 'member');
    const email = await emailOf(here);
    const there = await world.signIn(email);
    const changed = await change(here, PASSWORD, NEW);
    assert.equal(changed.status, 204);
    const cookie = changed.headers.get('set-cookie')?.split(';')[0] ?? '';
    assert.match(changed.headers.get('set-cookie') ?? '', /HttpOnly; SameSite=Lax/);
    assert.deepEqual(
      [await isAlive(cookie), await isAlive(here), await isAlive(there)],
      [true, false, false],
    );
    await assert.rejects(world.signIn(email, PASSWORD), /is wrong/);
    assert.ok(await world.signIn(email, NEW));
  });

  it('is recorded in the audit log, without passwords', async () => {
    const cookie = await addPerson(world, owner, 'viewer');
    await change(cookie, PASSWORD, NEW);
    const { json, text } = await world.send('GET', '/api/v1/audit-log', { cookie: owner });
    assert.equal(json.data[0].action, 'person.password_changed');
    assert.equal(json.data[0].actor, json.data[0].subject);
    for (const secret of [PASSWORD, NEW])
      assert.ok(!text.includes(secret) && !world.logged().includes(secret));
  });

  it('is rejected with a wrong current password or an invalid new one', async () => {
    const cookie = await addPerson(world, owner, 'viewer');
    const refusals: [unknown, unknown, string, string][] = [
      ['wrong', NEW, '/current_password', 'not_allowed'],
      [PASSWORD, 'short', '/new_password', 'too_short'],
      [PASSWORD, ' '.repeat(12), '/new_password', 'blank'],
      [PASSWORD, 'x'.repeat(1_001), '/new_password', 'too_long'],
      [PASSWORD, PASSWORD, '/new_password', 'not_allowed'],
      [PASSWORD, 12, '/new_password', 'wrong_type'],
    ];
    for (const [current, wanted, pointer, code] of refusals) {
      const refused = await change(cookie, current, wanted);
      assertProblem(refused, 422, 'validation_failed');
      assert.deepEqual(
        refused.json.errors.map((error: { pointer: string; code: string }) => [error.pointer, error.code]),
        [[pointer, code]],
      );
    }
    assert.ok(await world.signIn(await emailOf(cookie)));
  });

  it('requires a session and the Origin of the service', async () => {
    const body = { current_password: PASSWORD, new_password: NEW };
    const put = (sent: object) => world.send('PUT', '/api/v1/me/password', { ...sent, body });
    assertProblem(await put({}), 403, 'forbidden');
    assertProblem(await put({ key: null }), 401, 'unauthenticated');
    assertProblem(await put({ cookie: owner }), 403, 'forbidden');
    const headers = { Origin: 'https://evil.example.com' };
    assertProblem(await put({ cookie: owner, headers }), 403, 'forbidden');
    assert.ok(await isAlive(owner));
  });

  it('succeeds once if it is done twice simultaneously', async () => {
    const here = await addPerson(world, owner, 'member');
    const there = await world.signIn(await emailOf(here));
    const outcomes = await Promise.all([change(here, PASSWORD, NEW), change(there, PASSWORD, `${NEW} too`)]);
    const statuses = outcomes.map(({ status }) => status).toSorted();
    assert.equal(statuses[0], 204);
    assert.ok([401, 409, 422].includes(statuses[1] ?? 0), String(statuses));
  });

  it('leaves no session of a simultaneous sign-in with the old password', async () => {
    const here = await addPerson(world, owner, 'member');
    const email = await emailOf(here);
    const [changed, ...signedIn] = await Promise.all([
      change(here, PASSWORD, NEW),
      ...Array.from({ length: 6 }, () => world.signIn(email).catch(() => null)),
    ]);
    assert.equal(changed.status, 204);
    for (const cookie of signedIn) assert.ok(cookie === null || !(await isAlive(cookie)));
  });

  it('shares the rate limit of the account with signing in', async () => {
    const cookie = await addPerson(world, owner, 'viewer');
    const email = await emailOf(cookie);
    for (let count = 0; count < 10; count += 1)
      assertProblem(await change(cookie, 'wrong', NEW), 422, 'validation_failed');
    const refused = await change(cookie, PASSWORD, NEW);
    assertProblem(refused, 429, 'rate_limited');
    assert.ok(Number(refused.headers.get('retry-after')) <= 60);
    await assert.rejects(world.signIn(email), /rate_limited/);
    assert.ok(await isAlive(cookie), 'the session remains valid');
  });
});
