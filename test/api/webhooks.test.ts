import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { queryBuilderOf } from '../../src/database/database.ts';
import { openApiDocument } from '../../src/api/http/openapi.ts';
import { allRoutes } from '../../src/api/app.ts';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { webhookSecretContext, createSealing } from '../../src/security/sealing.ts';
import { keyWith } from './keys.ts';
import { assertProblem, assertWithin } from './problems.ts';
import { addPerson, addWorkspace } from '../support/people.ts';
import { type Received, type Sent, useOwnWorld, useWorld } from '../support/world.ts';

const URL_OF_HOOK = 'https://hooks.example.com/in';
const PLAN = { name: 'Chat', url: URL_OF_HOOK, events: [{ event: 'issue.created' }] };

describe('webhooks', () => {
  const world = useWorld();
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });

  const create = (members: Record<string, unknown> = {}, sent: Sent = {}) =>
    world.send('POST', '/api/v1/webhooks', { body: { ...PLAN, ...members }, ...sent });
  const made = async (members: Record<string, unknown> = {}): Promise<Received['json']> => {
    const received = await create(members);
    assert.equal(received.status, 201, received.text);
    return received.json;
  };
  const read = (id: string) => world.send('GET', `/api/v1/webhooks/${id}`);
  const edit = (id: string, body: Record<string, unknown>) =>
    world.send('PATCH', `/api/v1/webhooks/${id}`, { body });
  const rotate = (id: string, body?: Record<string, unknown>) =>
    world.send('POST', `/api/v1/webhooks/${id}/rotate-secret`, body ? { body } : {});
  const stored = async (id: string) => {
    const { rows } = await sql<
      Record<string, string | null>
    >`select * from webhooks where id = ${id}`.execute(queryBuilderOf(world.database));
    return rows[0] ?? {};
  };

  describe('a new webhook', () => {
    it('is returned completely, with its Location', async () => {
      const filters = [
        { field: 'status', changed_to: 'Done' },
        { field: 'priority', values: ['High', 1, true, null] },
      ];
      const received = await create({
        events: [{ event: 'issue.updated', filters }, { event: 'user.joined' }],
      });
      assert.equal(received.status, 201);
      const { id, created_at: createdAt, ...rest } = received.json;
      assert.match(received.headers.get('location') ?? '', new RegExp(`/api/v1/webhooks/${id}$`));
      assert.deepEqual(rest, {
        name: 'Chat',
        description: null,
        url: URL_OF_HOOK,
        method: 'POST',
        content_type: 'application/json',
        events: [
          { event: 'issue.updated', filters },
          { event: 'user.joined', filters: [] },
        ],
        has_secret: false,
        include_secret_header: false,
        active: true,
        standard_webhooks: false,
        status: 'active',
        consecutive_failures: 0,
        disabled_at: null,
        disabled_reason: null,
        previous_secret_until: null,
        listening: false,
        updated_at: createdAt,
      });
      assert.deepEqual((await read(id)).json, received.json);
    });

    it('can contain the fixed method and content type', async () => {
      await made({ method: 'POST', content_type: 'application/json', active: false, secret: 's3cret' });
      const { json } = await world.send('GET', '/api/v1/webhooks?limit=1');
      assert.equal(json.data[0].status, 'inactive');
      assert.equal(json.data[0].has_secret, true);
    });

    it('is created once for the same idempotency key', async () => {
      const headers = { 'Idempotency-Key': randomUUID() };
      const first = await create({ secret: 'a secret' }, { headers });
      const again = await create({ secret: 'a secret' }, { headers });
      assert.equal(again.text, first.text);
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
      assertProblem(await create({ secret: 'another' }, { headers }), 422, 'idempotency_key_reused');
    });
  });

  /** test/domain/urls.test.ts shows which changes expose a secret, or send it to a new URL. */
  describe('the secret header', () => {
    const CLEAR = 'http://hooks.example.com/in';
    const withHeader = { secret: 'plain', include_secret_header: true };
    const consent = { allow_secret_over_http: true };
    const assertNeedsConsent = (received: Received) => {
      assertProblem(received, 422, 'validation_failed');
      const { pointer, code } = received.json.errors[0];
      assert.deepEqual([pointer, code], ['/allow_secret_over_http', 'required']);
    };

    it('requires consent for an http URL', async () => {
      assertNeedsConsent(await create({ ...withHeader, url: CLEAR }));
      assertNeedsConsent(await create({ ...withHeader, url: CLEAR, allow_secret_over_http: false }));
      const created = await create({ ...withHeader, ...consent, url: CLEAR });
      assert.equal(created.status, 201);
      assert.ok(!('allow_secret_over_http' in created.json));
      assert.equal((await create({ ...withHeader, url: 'https://hooks.example.com/in' })).status, 201);
      assert.equal((await create({ secret: 'plain', url: CLEAR })).status, 201);
    });

    it('requires consent, and the secret, for a change that sends it to another URL', async () => {
      const { id } = await made({ ...withHeader, url: URL_OF_HOOK });
      assert.equal((await edit(id, { name: 'New name', url: URL_OF_HOOK })).status, 200);
      assertNeedsConsent(await edit(id, { url: CLEAR, secret: 'plain' }));
      const refused = await edit(id, { url: CLEAR, ...consent });
      assertProblem(refused, 422, 'validation_failed');
      const message =
        '`secret` is required to send it to a new URL; repeat the current secret or set a new one.';
      assert.deepEqual(refused.json.errors, [{ pointer: '/secret', code: 'required', message }]);
      assert.equal((await read(id)).json.url, URL_OF_HOOK);
      assert.equal((await edit(id, { url: CLEAR, secret: 'plain', ...consent })).status, 200);
    });
  });

  it('are listed newest first, in stable pages while others are added and deleted', async () => {
    const ids = [];
    for (let count = 0; count < 5; count += 1) ids.unshift((await made({ name: `Number ${count}` })).id);
    const first = await world.send('GET', '/api/v1/webhooks?limit=2');
    assert.deepEqual(
      first.json.data.map(({ id }: { id: string }) => id),
      ids.slice(0, 2),
    );
    await made({ name: 'late' });
    await world.send('DELETE', `/api/v1/webhooks/${ids[2]}`);
    const second = await world.send('GET', `/api/v1/webhooks?limit=2&cursor=${first.json.next_cursor}`);
    assert.deepEqual(
      second.json.data.map(({ id }: { id: string }) => id),
      ids.slice(3, 5),
    );
  });

  describe('a change', () => {
    it('affects only the given members', async () => {
      const before = await made({ secret: 'one' });
      const received = await edit(before.id, { name: 'Mail', url: 'http://other.example.com:8080/x?y=z' });
      assert.equal(received.status, 200);
      assert.deepEqual(received.json, {
        ...before,
        name: 'Mail',
        url: 'http://other.example.com:8080/x?y=z',
        updated_at: received.json.updated_at,
      });
      assert.ok(received.json.updated_at > before.updated_at);
      assert.deepEqual((await edit(before.id, {})).json, received.json, 'an empty change has no effect');
      for (const [description, kept] of [
        ['For billing', 'For billing'],
        ['', null],
      ]) {
        assert.equal((await edit(before.id, { description })).json.description, kept);
      }
    });

    it('sets, replaces and removes the secret', async () => {
      const { id } = await made();
      assert.equal((await edit(id, { secret: 'one' })).json.has_secret, true);
      const first = (await stored(id))['secret'];
      await edit(id, { secret: 'two' });
      assert.notEqual((await stored(id))['secret'], first);
      assert.equal((await edit(id, { secret: null })).json.has_secret, false);
      assert.equal((await stored(id))['secret'], null);
    });

    it('cannot remove the secret if an option requires it', async () => {
      const { id } = await made({ secret: 'one', standard_webhooks: true });
      const refused = await edit(id, { secret: null });
      assertProblem(refused, 422, 'validation_failed');
      assert.equal(refused.json.errors[0].pointer, '/secret');
      assert.equal((await edit(id, { secret: null, standard_webhooks: false })).status, 200);
      const option = await edit(id, { include_secret_header: true });
      assertProblem(option, 422, 'validation_failed');
      assert.equal(option.json.errors[0].pointer, '/include_secret_header');
    });

    it('cannot combine the secret header with a secret that is invalid in it', async () => {
      const { id } = await made({ secret: 'grüße' });
      assertProblem(await edit(id, { include_secret_header: true }), 422, 'validation_failed');
      assert.equal((await edit(id, { include_secret_header: true, secret: 'plain' })).status, 200);
      assertProblem(await edit(id, { secret: 'grüße' }), 422, 'validation_failed');
      assertProblem(await rotate(id, { secret: 'with space' }), 422, 'validation_failed');
      assert.equal((await edit(id, { include_secret_header: false, secret: 'grüße' })).status, 200);
    });

    it('re-enables a disabled webhook, and resets its failures', async () => {
      const { id } = await made();
      await sql`update webhooks set consecutive_failures = 10, disabled_at = now(), disabled_reason = 'ten'
        where id = ${id}`.execute(queryBuilderOf(world.database));
      const { json: disabled } = await read(id);
      assert.equal(disabled.status, 'disabled');
      assert.equal(disabled.disabled_reason, 'ten');
      const { json: off } = await edit(id, { active: false });
      assert.equal(off.status, 'disabled', 'an inactive webhook remains disabled');
      const { json: renamed } = await edit(id, { name: 'Still disabled' });
      assert.equal(renamed.status, 'disabled');
      const { json: on } = await edit(id, { active: true });
      assert.deepEqual(
        [on.status, on.active, on.consecutive_failures, on.disabled_at, on.disabled_reason],
        ['active', true, 0, null, null],
      );
    });
  });

  describe('a rotation', () => {
    it('creates a secret, and returns it once', async () => {
      const { id } = await made();
      const received = await rotate(id);
      assert.equal(received.status, 200);
      assert.match(received.json.secret, /^[0-9a-f]{64}$/);
      assert.equal(received.json.has_secret, true);
      assert.equal(received.json.previous_secret_until, null, 'there was no previous secret');
      assert.ok(!(await read(id)).text.includes(received.json.secret));
    });

    it('keeps the previous secret for a day, or for overlap_hours', async () => {
      const { id } = await made({ secret: 'old' });
      let from = Date.now();
      const given = await rotate(id, { secret: 'new', overlap_hours: 2.5 });
      assert.ok(!('secret' in given.json), 'a given secret is not returned');
      assertWithin(given.json.previous_secret_until, from, 2.5 * 3_600_000);
      const sealing = createSealing(world.configuration.sealingKeys);
      const open = async (column: string) =>
        sealing.open((await stored(id))[column] ?? '', webhookSecretContext(id));
      assert.deepEqual([await open('secret'), await open('previous_secret')], ['new', 'old']);
      from = Date.now();
      const again = await rotate(id);
      assertWithin(again.json.previous_secret_until, from, 24 * 3_600_000);
      assert.equal(await open('previous_secret'), 'new');
      const atOnce = await rotate(id, { overlap_hours: 0 });
      assert.equal(atOnce.json.previous_secret_until, null);
      assert.equal((await stored(id))['previous_secret'], null);
    });

    it('ends the overlap if another secret is set by a change', async () => {
      const { id } = await made({ secret: 'old' });
      await rotate(id, { secret: 'new', overlap_hours: 2 });
      const { json } = await edit(id, { secret: 'newest' });
      assert.equal(json.previous_secret_until, null);
      assert.equal((await stored(id))['previous_secret'], null);
    });

    it('does not end the overlap if a change repeats the current secret', async () => {
      const { id } = await made({ secret: 'old' });
      const { json: rotated } = await rotate(id, { secret: 'new', overlap_hours: 2 });
      const { secret } = await stored(id);
      const { json } = await edit(id, { secret: 'new', name: 'renamed' });
      assert.deepEqual([json.name, json.previous_secret_until], ['renamed', rotated.previous_secret_until]);
      assert.equal((await stored(id))['secret'], secret, 'it is not sealed again');
    });

    it('creates one secret for the same idempotency key', async () => {
      const { id } = await made();
      const path = `/api/v1/webhooks/${id}/rotate-secret`;
      const headers = { 'Idempotency-Key': randomUUID() };
      const first = await world.send('POST', path, { headers });
      assert.equal((await world.send('POST', path, { headers })).text, first.text);
    });

    it('is rejected with an invalid overlap or secret', async () => {
      const { id } = await made();
      for (const [body, pointer] of [
        [{ overlap_hours: -1 }, '/overlap_hours'],
        [{ overlap_hours: 169 }, '/overlap_hours'],
        [{ overlap_hours: '1' }, '/overlap_hours'],
        [{ secret: null }, '/secret'],
        [{ force: true }, '/force'],
      ] as const) {
        const received = await rotate(id, body);
        assertProblem(received, 422, 'validation_failed');
        assert.equal(received.json.errors[0].pointer, pointer);
      }
    });
  });

  describe('a deleted webhook', () => {
    it('is not found, has no secrets, and its open deliveries are cancelled', async () => {
      const { id } = await made({ secret: 'gone soon' });
      await rotate(id);
      const deliveries = ['pending', 'retrying', 'held', 'failed', 'succeeded', 'skipped'];
      await sql`
        insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, created_at, updated_at)
        select gen_random_uuid(), workspace_id, id, 1, 'e', 'issue.created', status, now(), now()
        from webhooks, unnest(${deliveries}::text[]) status where id = ${id}
      `.execute(queryBuilderOf(world.database));
      assert.equal((await world.send('DELETE', `/api/v1/webhooks/${id}`)).status, 204);
      assertProblem(await read(id), 404, 'not_found');
      assertProblem(await edit(id, { name: 'x' }), 404, 'not_found');
      assertProblem(await rotate(id), 404, 'not_found');
      assertProblem(await world.send('DELETE', `/api/v1/webhooks/${id}`), 404, 'not_found');
      const row = await stored(id);
      assert.deepEqual(
        [row['secret'], row['previous_secret'], row['previous_secret_until']],
        [null, null, null],
      );
      const { rows } = await sql<{ status: string; count: number; generation: number }>`
        select status, count(*)::int as count, max(generation) as generation from deliveries
        where webhook_id = ${id} group by status order by status
      `.execute(queryBuilderOf(world.database));
      assert.deepEqual(rows, [
        { status: 'cancelled', count: 3, generation: 1 },
        { status: 'failed', count: 1, generation: 0 },
        { status: 'skipped', count: 1, generation: 0 },
        { status: 'succeeded', count: 1, generation: 0 },
      ]);
    });
  });

  it('are recorded in the audit log with the actor of each change', async () => {
    const { id } = await made({ name: 'Watched', secret: 'quiet-please' });
    await edit(id, { url: 'https://other.example.com/', secret: 'still-quiet' });
    await edit(id, { active: false });
    await edit(id, { active: true });
    await rotate(id);
    await world.send('DELETE', `/api/v1/webhooks/${id}`);
    const { json } = await world.send('GET', '/api/v1/audit-log', { key: null, cookie: owner });
    const own = json.data.filter(({ subject }: { subject: string }) => subject === `webhook:${id}`);
    assert.deepEqual(
      own.map(({ action }: { action: string }) => action),
      [
        'webhook.deleted',
        'webhook.secret_rotated',
        'webhook.enabled',
        'webhook.changed',
        'webhook.changed',
        'webhook.created',
      ],
    );
    for (const entry of own) {
      assert.match(entry.actor, /^key:/);
      assert.equal(entry.detail.name, 'Watched');
    }
    assert.deepEqual(own[4].detail.changed, ['url', 'secret']);
    assert.deepEqual(own[3].detail.changed, ['active']);
  });

  it('have secrets that no response, log line, audit entry or table contains', async () => {
    const secrets = ['kept-secret-one', 'kept-secret-two', 'kept-secret-three'];
    const answers: Received[] = [];
    const key = { headers: { 'Idempotency-Key': randomUUID() } };
    const first = await create({ secret: secrets[0], include_secret_header: true }, key);
    const { id } = first.json;
    answers.push(first, await create({ secret: secrets[0], include_secret_header: true }, key));
    answers.push(await edit(id, { secret: secrets[1] }), await rotate(id, { secret: secrets[2] }));
    answers.push(await read(id), await world.send('GET', '/api/v1/webhooks'));
    answers.push(
      await edit(id, { secret: `${secrets[1]} ` }),
      await rotate(id, { secret: `${secrets[2]}\n` }),
    );
    const { json: rotated } = await rotate(id);
    secrets.push(rotated.secret);
    answers.push(await read(id));
    for (const secret of secrets) {
      for (const answer of answers) assert.ok(!answer.text.includes(secret), answer.text);
      assert.ok(!world.logged().includes(secret), 'a log line contains no secret');
      for (const table of ['webhooks', 'audit_log', 'idempotency_keys']) {
        const { rows } = await sql<{ found: number }>`
          select count(*)::int as found from ${sql.table(table)} t where t::text like ${`%${secret}%`}
        `.execute(queryBuilderOf(world.database));
        assert.equal(rows[0]?.found, 0, table);
      }
    }
  });

  describe('with a limit per workspace', () => {
    const small = useOwnWorld({ worker: false, environment: { WEBHOOKS_PER_WORKSPACE: '5' } });

    it('are limited even if many are created simultaneously', async () => {
      const send = () => small.send('POST', '/api/v1/webhooks', { body: PLAN });
      const all = await Promise.all(Array.from({ length: 20 }, send));
      assert.equal(all.filter(({ status }) => status === 201).length, 5);
      for (const received of all.filter(({ status }) => status !== 201))
        assertProblem(received, 409, 'conflict');
      const { json } = await small.send('GET', '/api/v1/webhooks');
      await small.send('DELETE', `/api/v1/webhooks/${json.data[0].id}`);
      assert.equal((await send()).status, 201, 'a deleted webhook is not counted');
      assertProblem(await send(), 409, 'conflict');
      const listener = { forward_to: 'http://localhost:4000/' };
      const listen = () => small.send('POST', '/api/v1/listeners', { body: listener });
      assertProblem(await listen(), 409, 'conflict');
      await small.send('DELETE', `/api/v1/webhooks/${json.data[1].id}`);
      assert.equal((await listen()).status, 201);
    });
  });

  describe('have permissions', () => {
    /** Returns the statuses of all calls with these credentials, on a new webhook. */
    const outcomes = async (sent: Sent) => {
      const path = `/api/v1/webhooks/${(await made()).id}`;
      const calls: [string, string, Sent][] = [
        ['GET', '/api/v1/webhooks', {}],
        ['GET', path, {}],
        ['PATCH', path, { body: { name: 'Other' } }],
        ['POST', '/api/v1/webhooks', { body: PLAN }],
        ['POST', `${path}/rotate-secret`, {}],
        ['DELETE', path, {}],
      ];
      const statuses = [];
      for (const [method, address, own] of calls) {
        statuses.push((await world.send(method, address, { ...own, ...sent })).status);
      }
      return statuses;
    };
    it('that require a credential', async () => {
      assert.deepEqual(await outcomes({ key: null }), [401, 401, 401, 401, 401, 401]);
    });

    it('by the scopes of a key', async () => {
      assert.deepEqual(
        await outcomes({ key: await keyWith(world, ['tasks:write']) }),
        [403, 403, 403, 403, 403, 403],
      );
      assert.deepEqual(
        await outcomes({ key: await keyWith(world, ['webhooks:read']) }),
        [200, 200, 403, 403, 403, 403],
      );
      assert.deepEqual(
        await outcomes({ key: await keyWith(world, ['webhooks:write']) }),
        [403, 403, 200, 201, 200, 204],
      );
    });

    it('by role: viewers and members can read, admins can write', async () => {
      const viewer = world.as(await addPerson(world, owner, 'viewer'));
      const member = world.as(await addPerson(world, owner, 'member'));
      for (const person of [viewer, member]) {
        assert.deepEqual(await outcomes(person), [200, 200, 403, 403, 403, 403]);
      }
      const admin = world.as(await addPerson(world, owner, 'admin'));
      assert.deepEqual(await outcomes(admin), [200, 200, 200, 201, 200, 204]);
    });

    it('that hide them from other workspaces', async () => {
      const otherWorkspaceKey = await addWorkspace(world);
      const { id } = await made();
      for (const [method, action, body] of [
        ['GET', '', undefined],
        ['PATCH', '', { name: 'Mine' }],
        ['DELETE', '', undefined],
        ['POST', '/rotate-secret', {}],
      ] as const) {
        const received = await world.send(method, `/api/v1/webhooks/${id}${action}`, {
          key: otherWorkspaceKey,
          body,
        });
        assertProblem(received, 404, 'not_found');
      }
      assert.equal(
        (await world.send('GET', '/api/v1/webhooks', { key: otherWorkspaceKey })).json.data.length,
        0,
      );
      assert.equal((await read(id)).json.name, 'Chat');
    });

    it('and return 404 for an unknown or invalid id', async () => {
      assertProblem(await read('nonsense'), 404, 'not_found');
      assertProblem(await read(randomUUID()), 404, 'not_found');
    });
  });

  it('have these operations in the OpenAPI document', () => {
    const { paths = {} } = openApiDocument(allRoutes({} as Dependencies), 'http://localhost');
    const operations = Object.entries(paths)
      .filter(([path]) => /webhooks|deliveries/.test(path))
      .flatMap(([path, item]) => Object.keys(item ?? {}).map((method) => `${method} ${path.slice(8)}`));
    assert.deepEqual(operations.toSorted(), [
      'delete deliveries/{id}/retry',
      'delete webhooks/{id}',
      'get deliveries/{id}',
      'get webhooks',
      'get webhooks/{id}',
      'get webhooks/{id}/deliveries',
      'get webhooks/{id}/stats',
      'patch webhooks/{id}',
      'post deliveries/{id}/retry',
      'post webhooks',
      'post webhooks/preview',
      'post webhooks/{id}/preview',
      'post webhooks/{id}/recover',
      'post webhooks/{id}/rotate-secret',
      'post webhooks/{id}/test',
      'post webhooks/{id}/test-request',
    ]);
  });
});
