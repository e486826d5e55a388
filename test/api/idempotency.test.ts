import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { pino } from 'pino';
import { bootstrap } from '../../src/api/server.ts';
import type { Caller } from '../../src/api/http/caller.ts';
import { createIdempotency } from '../../src/api/http/idempotency.ts';
import { takeOverClaim } from '../../src/database/common/idempotency-claims.ts';
import { createIdempotencyKeys } from '../../src/database/tasks/idempotency.ts';
import type { Claim } from '../../src/api/http/route.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import { isDatabaseOutage } from '../../src/database/common/outage.ts';
import { createSealing } from '../../src/security/sealing.ts';
import { SignalUncertain } from '../../src/temporal/task-control.ts';
import { eventually } from '../support/eventually.ts';
import { assertProblem } from './problems.ts';
import { useWorld } from '../support/world.ts';

describe('an idempotency key', () => {
  const world = useWorld();
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });

  const submit = (key: string, members: Record<string, unknown> = {}) =>
    world.submit(members, { headers: { 'Idempotency-Key': key } });
  const countRuns = async () => {
    const result = await sql<{ count: number }>`
      select count(*)::int as count from task_runs where workspace_id = ${world.installation.workspace_id}
    `.execute(queryBuilderOf(world.database));
    return result.rows[0]?.count ?? 0;
  };

  it('returns the first response again, and creates one run', async () => {
    const key = randomUUID();
    const before = await countRuns();
    const first = await submit(key);
    const again = await submit(key);
    assert.equal(first.headers.get('idempotent-replayed'), null);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal(again.status, 201);
    assert.equal(again.text, first.text, 'the response contains the same secret');
    assert.equal(again.headers.get('location'), first.headers.get('location'));
    assert.equal(await countRuns(), before + 1);
  });

  it('is rejected with another body', async () => {
    const key = randomUUID();
    await submit(key);
    assertProblem(await submit(key, { title: 'Another' }), 422, 'idempotency_key_reused');
  });

  it('creates one run for simultaneous requests, and returns 409 for early repeats', async () => {
    const key = randomUUID();
    const before = await countRuns();
    const all = await Promise.all(Array.from({ length: 20 }, () => submit(key)));
    const made = all.filter(({ status }) => status === 201);
    assert.ok(made.length > 0);
    assert.equal(new Set(made.map(({ json }) => json.execution_id)).size, 1);
    for (const received of all.filter(({ status }) => status !== 201)) {
      assertProblem(received, 409, 'conflict');
      assert.equal(received.headers.get('retry-after'), '1');
    }
    assert.equal(await countRuns(), before + 1);
  });

  it('can be used again after a rejected request', async () => {
    const key = randomUUID();
    assertProblem(await submit(key, { title: '' }), 422, 'validation_failed');
    assertProblem(await submit(key, { project_id: randomUUID() }), 403, 'project_not_allowed');
    assert.equal((await submit(key)).status, 201);
  });

  it('can be used by several projects independently', async () => {
    const key = randomUUID();
    const first = await submit(key);
    const { json: project } = await world.send('POST', '/api/v1/projects', {
      ...world.as(owner),
      body: { name: 'Other' },
    });
    const { json: other } = await world.send('POST', '/api/v1/keys', {
      ...world.as(owner),
      body: { name: 'Other', project_id: project.id },
    });
    const second = await world.submit(
      { project_id: project.id },
      { key: other.key, headers: { 'Idempotency-Key': key } },
    );
    assert.equal(second.status, 201);
    assert.notEqual(second.json.execution_id, first.json.execution_id);
  });

  it('is rejected for another credential of the project, because the response has a secret', async () => {
    const key = randomUUID();
    const first = await submit(key);
    const { json: other } = await world.send('POST', '/api/v1/keys', {
      ...world.as(owner),
      body: { name: 'Other', project_id: world.installation.project_id },
    });
    const { title } = (await world.send('GET', `/api/v1/tasks/${first.json.execution_id}`)).json;
    const second = await world.submit({ title }, { key: other.key, headers: { 'Idempotency-Key': key } });
    assertProblem(second, 422, 'idempotency_key_reused');
    assert.ok(!second.text.includes(first.json.callback_secret));
  });

  it('is stored without unencrypted secrets', async () => {
    const { json } = await submit(randomUUID());
    const { rows } = await sql<{ row: string }>`
      select idempotency_keys::text as row from idempotency_keys union all select task_runs::text from task_runs
    `.execute(queryBuilderOf(world.database));
    assert.ok(rows.length > 0);
    assert.ok(rows.every(({ row }) => !row.includes(json.callback_secret)));
  });

  it('leads to the same run and secret if the first request was interrupted', async () => {
    const key = randomUUID();
    const first = await submit(key);
    // Simulates a crash: claimed a minute ago, without a response. The time is part of the id of the run.
    const claimedAt = new Date(Date.now() - 61_000).toISOString();
    await sql`
      update idempotency_keys set answer = null, created_at = ${claimedAt}::timestamptz where key = ${key}
    `.execute(queryBuilderOf(world.database));
    const second = await submit(key);
    assert.equal(second.status, 201);
    assert.notEqual(second.json.execution_id, first.json.execution_id, 'another claim creates another run');
    await sql`update idempotency_keys set answer = null, taken_at = null where key = ${key}`.execute(
      queryBuilderOf(world.database),
    );
    const third = await submit(key);
    assert.deepEqual(third.json, second.json);
  });

  /** Returns a request with a new key, whose time the test sets. */
  function claimedRequest() {
    const clock = { now: Date.now() };
    const { configuration, database, installation } = world;
    const once = createIdempotency({
      keys: createIdempotencyKeys(database),
      takeOver: (claim) => takeOverClaim(database, claim),
      sealing: createSealing(configuration.sealingKeys),
      clock: () => new Date(clock.now),
      onError: () => {},
    });
    const caller = { kind: 'key', projectId: installation.project_id } as Caller;
    const wanted = { given: randomUUID(), method: 'POST', path: '/', body: {}, caller };
    return { once, wanted, clock, database, claims: [] as Claim[] };
  }

  it('keeps its claim if the request loses PostgreSQL, because its row may exist', async () => {
    const { once, wanted, clock, database, claims } = claimedRequest();
    const interrupted = once(wanted, async (claim) => {
      claims.push(claim);
      await sql`select pg_terminate_backend(pg_backend_pid())`.execute(queryBuilderOf(database));
      return { status: 201, body: {} };
    });
    await assert.rejects(interrupted, isDatabaseOutage);
    const answers = () =>
      sql`select 1`.execute(queryBuilderOf(database)).then(
        () => true,
        () => false,
      );
    await eventually('the pool has replaced the broken connection', answers);
    const again = () =>
      once(wanted, async (claim) => {
        claims.push(claim);
        return { status: 201, body: {} };
      });
    clock.now += 1_000;
    await assert.rejects(again(), { code: 'conflict' });
    clock.now += 60_000;
    assert.equal((await again()).status, 201);
    const [first, second] = claims;
    assert.deepEqual(
      second,
      { ...first, takenAt: new Date(clock.now) },
      'the same claim leads to the same run',
    );
  });

  it('keeps its claim if Temporal does not confirm a signal, because it may have arrived', async () => {
    const { once, wanted, clock } = claimedRequest();
    const interrupted = once(wanted, () => Promise.reject(new SignalUncertain()));
    await assert.rejects(interrupted, SignalUncertain);
    const again = () => once(wanted, () => Promise.resolve({ status: 200, body: {} }));
    await assert.rejects(again(), { code: 'conflict' });
    clock.now += 61_000;
    assert.equal((await again()).status, 200);
  });

  it('creates one API key, and returns the response with the key again', async () => {
    const sent = {
      ...world.as(owner),
      body: { name: 'Once', project_id: world.installation.project_id },
    };
    const headers = { ...sent.headers, 'Idempotency-Key': randomUUID() };
    const first = await world.send('POST', '/api/v1/keys', { ...sent, headers });
    const again = await world.send('POST', '/api/v1/keys', { ...sent, headers });
    assert.equal(again.status, 201);
    assert.deepEqual(again.json, first.json);
  });

  it('is rejected for another resource, with the same content', async () => {
    const made = async () =>
      (
        await world.send('POST', '/api/v1/keys', {
          ...world.as(owner),
          body: { name: 'k', scopes: ['tasks:read'], project_id: world.installation.project_id },
        })
      ).json.id;
    const [one, other] = [await made(), await made()];
    const headers = { ...world.as(owner).headers, 'Idempotency-Key': randomUUID() };
    const rotate = (id: string) =>
      world.send('POST', `/api/v1/keys/${id}/rotate`, { ...world.as(owner), headers, body: {} });
    assert.equal((await rotate(one)).status, 201);
    assertProblem(await rotate(other), 422, 'idempotency_key_reused');
    assert.equal((await rotate(one)).headers.get('idempotent-replayed'), 'true');
  });

  it('creates another API key after 24 hours, also if the old key of the request is still stored', async () => {
    const sent = {
      ...world.as(owner),
      body: { name: 'Twice', project_id: world.installation.project_id },
    };
    const key = randomUUID();
    const headers = { ...sent.headers, 'Idempotency-Key': key };
    const first = await world.send('POST', '/api/v1/keys', { ...sent, headers });
    await sql`
      update idempotency_keys set created_at = created_at - interval '24 hours 1 second' where key like ${`%:${key}`}
    `.execute(queryBuilderOf(world.database));
    const second = await world.send('POST', '/api/v1/keys', { ...sent, headers });
    assert.equal(second.status, 201);
    assert.notEqual(second.json.id, first.json.id);
    const again = await world.send('POST', '/api/v1/keys', { ...sent, headers });
    assert.deepEqual(again.json, second.json);
  });

  it('is forgotten after 24 hours, and not before', async () => {
    const [old, recent] = [randomUUID(), randomUUID()];
    await submit(old);
    const { json } = await submit(recent);
    await sql`
      update idempotency_keys set created_at = created_at - interval '24 hours 1 second' where key = ${old}
    `.execute(queryBuilderOf(world.database));
    const left = async () => {
      const found = sql`select key from idempotency_keys where key in (${old}, ${recent})`;
      return (await found.execute(queryBuilderOf(world.database))).rows;
    };
    // A process deletes them when it starts, and every hour.
    const another = await bootstrap(world.configuration, pino({ level: 'silent' }));
    try {
      assert.deepEqual(
        await eventually('a key was deleted', async () => {
          const keys = await left();
          return keys.length < 2 && keys;
        }),
        [{ key: recent }],
      );
    } finally {
      await another.close();
    }
    assert.deepEqual((await submit(recent)).json, json);
  });
});
