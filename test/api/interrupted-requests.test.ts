import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Caller } from '../../src/api/http/caller.ts';
import { answerWithChange } from '../../src/api/http/answer-with-change.ts';
import { createIdempotency, idOfClaim } from '../../src/api/http/idempotency.ts';
import type { Problem } from '../../src/api/http/problem.ts';
import type { Claim } from '../../src/api/http/route.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import { createProject, listProjects } from '../../src/database/people/projects.ts';
import { takeOverClaim } from '../../src/database/common/idempotency-claims.ts';
import { createIdempotencyKeys } from '../../src/database/tasks/idempotency.ts';
import { createSealing } from '../../src/security/sealing.ts';
import { eventually } from '../support/eventually.ts';
import { useWebhooks } from '../support/webhooks.ts';
import { useWorld, type Received, type Sent } from '../support/world.ts';

/** Longer than the time after which a request without a response counts as interrupted. */
const LATER_MS = 61_000;

describe('a request whose process dies after its change, repeated with its idempotency key,', () => {
  const world = useWorld();
  const webhooks = useWebhooks(world);
  let owner: string;
  before(async () => {
    owner = await world.signIn();
  });

  const run = async (statement: string) => await sql.raw(statement).execute(queryBuilderOf(world.database));

  /**
   * Sends a request whose response nobody gets. A trigger rejects every response that is not stored in the transaction of a
   * change with an audit entry, as if the process had died after this transaction.
   */
  async function interrupt(path: string, sent: Sent): Promise<void> {
    await run(`
      create function test_die() returns trigger language plpgsql as $$ begin
        if not exists (select from audit_log where xmin = pg_current_xact_id()::xid) then
          raise exception 'the process died';
        end if;
        return new;
      end $$;
      create trigger test_die before update of answer on idempotency_keys for each row
        when (new.answer is not null) execute function test_die()`);
    try {
      const { status } = await world.send('POST', path, sent);
      assert.ok(status < 300, `the change was made: ${status}`);
    } finally {
      await run('drop trigger test_die on idempotency_keys; drop function test_die()');
    }
  }

  /** Returns the response to the repeat of an interrupted request. */
  async function repeated(path: string, { body, ...credential }: Sent): Promise<Received> {
    const key = randomUUID();
    const headers = { ...credential.headers, 'Idempotency-Key': key };
    const sent = { ...credential, headers, ...(body === undefined ? {} : { body }) };
    await interrupt(path, sent);
    const began = new Date(Date.now() - LATER_MS).toISOString();
    await sql`
      update idempotency_keys set created_at = ${began}::timestamptz where key like ${`%${key}`}
    `.execute(queryBuilderOf(world.database));
    return await world.send('POST', path, sent);
  }

  const audited = async (action: string, subject: string) => {
    const { json } = await world.send('GET', `/api/v1/audit-log?action=${action}`, world.as(owner));
    return json.data.filter((entry: { subject: string }) => entry.subject === subject).length;
  };
  const listed = async (path: string): Promise<Record<string, unknown>[]> =>
    (await world.send('GET', `${path}?limit=200`, world.as(owner))).json.data;
  const newKey = async (name: string) => {
    const body = { name, project_id: world.installation.project_id };
    return (await world.send('POST', '/api/v1/keys', { ...world.as(owner), body })).json;
  };
  const works = async (key: string) => (await world.send('GET', '/api/v1/projects', { key })).status === 200;

  for (const given of [undefined, 'a chosen secret']) {
    it(`rotates a secret once, so that the previous one still signs: ${given ?? 'generated'}`, async () => {
      const id = await webhooks.create({ secret: 'first secret' });
      const path = `/api/v1/webhooks/${id}/rotate-secret`;
      const { status, json } = await repeated(path, given === undefined ? {} : { body: { secret: given } });
      assert.equal(status, 200);
      await webhooks.publish();
      const [request] = await webhooks.receiver.receives(1);
      const signature = (secret: string) =>
        `sha256=${createHmac('sha256', secret)
          .update(request?.body ?? '')
          .digest('hex')}`;
      assert.equal(request?.headers['x-service-signature-previous'], signature('first secret'));
      assert.equal(request?.headers['x-service-signature'], signature(given ?? json.secret));
      assert.equal(await audited('webhook.secret_rotated', `webhook:${id}`), 1);
    });
  }

  it('creates one key, and returns it', async () => {
    const body = { name: 'Interrupted', project_id: world.installation.project_id };
    const { status, json } = await repeated('/api/v1/keys', { ...world.as(owner), body });
    assert.equal(status, 201);
    const made = (await listed('/api/v1/keys')).filter(({ name }) => name === 'Interrupted');
    assert.deepEqual(
      made.map(({ id }) => id),
      [json.id],
    );
    assert.ok(await works(json.key));
  });

  it('rotates a key once, and returns the new one', async () => {
    const old = await newKey('Rotated');
    const { status, json } = await repeated(`/api/v1/keys/${old.id}/rotate`, world.as(owner));
    assert.equal(status, 201);
    const rows = (await listed('/api/v1/keys')).filter(({ name }) => name === 'Rotated');
    assert.deepEqual(
      rows.map((row) => [row['id'], row['replaced_by']]),
      [
        [json.id, null],
        [old.id, json.id],
      ],
    );
    assert.ok(await works(json.key));
    assert.ok(await works(old.key), 'the old key stays valid during the overlap');
  });

  it('adds a member, and returns the password', async () => {
    const email = `interrupted-${randomUUID()}@example.com`;
    const body = { email, role: 'viewer' };
    const { status, json } = await repeated('/api/v1/members', { ...world.as(owner), body });
    assert.equal(status, 201);
    assert.ok(await world.signIn(email, json.initial_password));
  });

  it('creates a project', async () => {
    const body = { name: 'Interrupted project' };
    const { status, json } = await repeated('/api/v1/projects', { ...world.as(owner), body });
    assert.equal(status, 201);
    const made = (await listed('/api/v1/projects')).filter(({ name }) => name === body.name);
    assert.deepEqual(made, [json]);
  });

  it('invites once, and returns the link', async () => {
    const email = `invited-${randomUUID()}@example.com`;
    const body = { email, role: 'viewer' };
    const { status, json } = await repeated('/api/v1/invitations', { ...world.as(owner), body });
    assert.equal(status, 201);
    const made = (await listed('/api/v1/invitations')).filter((row) => row['email'] === email);
    assert.deepEqual(
      made.map((row) => [row['id'], row['status']]),
      [[json.id, 'open']],
    );
    const token = new URL(json.url).hash.slice(1);
    const found = await world.send('POST', '/api/v1/invitations/look-up', { key: null, body: { token } });
    assert.equal(found.json.email, email);
  });
});

// printf '["POST","/",{}]' | sha256sum
const HASH = '37bc0eb248a7280beeb347b04d1cc3a05b3c8027bb8ab5f6c0ca8055cbacff2d';

describe('simultaneous repeats of an interrupted request', () => {
  const world = useWorld();

  /** Returns what sends a request that creates a project for each claim, after `opened`, at a time that the test sets. */
  function claimedRequest() {
    const clock = { now: Date.now() };
    const { configuration, database, installation } = world;
    const sealing = createSealing(configuration.sealingKeys);
    const keys = createIdempotencyKeys(database);
    const takeOver = (claim: Claim & { takenAt: Date }) => takeOverClaim(database, claim);
    const once = createIdempotency({
      keys,
      takeOver,
      sealing,
      clock: () => new Date(clock.now),
      onError: () => {},
    });
    const caller = { kind: 'key', projectId: installation.project_id, actor: 'key:1' } as Caller;
    const wanted = { given: randomUUID(), method: 'POST', path: '/', body: {}, caller };
    const claims: Claim[] = [];
    const send = (opened: Promise<void>) =>
      once(wanted, async (claim) => {
        claims.push(claim);
        await opened;
        const key = `P${randomUUID().slice(0, 8).toUpperCase()}`;
        const answerOf = (row: { id: string }) => ({ status: 201, body: row.id });
        const plan = { workspaceId: installation.workspace_id, key, name: wanted.given, actor: 'key:1' };
        const withChange = answerWithChange({ sealing }, claim, answerOf);
        const row = await createProject(database, { ...plan, now: new Date(), withChange });
        assert.ok(row);
        return answerOf(row);
      });
    const projects = async () => {
      const all = await listProjects(database, {
        workspaceId: installation.workspace_id,
        id: null,
        limit: 200,
      });
      return all.filter(({ name }) => name === wanted.given).map(({ id }) => id);
    };
    const interrupted = () =>
      keys.claim({
        scope: installation.project_id,
        key: wanted.given,
        actor: caller.actor,
        requestHash: HASH,
        now: new Date(clock.now),
      });
    return { clock, send, claims, projects, interrupted };
  }
  it('run one of them, the others get 409', async () => {
    const { clock, send, claims, projects, interrupted } = claimedRequest();
    await interrupted();
    clock.now += LATER_MS;
    const gate = Promise.withResolvers<void>();
    const refused: unknown[] = [];
    const all = Array.from({ length: 5 }, () =>
      send(gate.promise).catch((error: Problem) => void refused.push(error.code)),
    );
    await eventually('all others have a response', () => refused.length === all.length - 1);
    assert.deepEqual(new Set(refused), new Set(['conflict']));
    gate.resolve();
    await Promise.all(all);
    assert.equal(claims.length, 1);
    assert.equal((await projects()).length, 1);
  });

  it('make one change if a request was not interrupted but slow, which then gets 409', async () => {
    const { clock, send, claims, projects } = claimedRequest();
    const gate = Promise.withResolvers<void>();
    const slow = send(gate.promise);
    const refused = assert.rejects(slow, { code: 'conflict', headers: { 'Retry-After': '1' } });
    await eventually('the slow request has its claim', () => claims.length === 1);
    clock.now += LATER_MS;
    const { body } = await send(Promise.resolve());
    gate.resolve();
    await refused;
    assert.deepEqual(await projects(), [body]);
    assert.deepEqual(claims.map(idOfClaim), [idOfClaim(claims[0] as Claim), idOfClaim(claims[0] as Claim)]);
    const again = await send(Promise.resolve());
    assert.deepEqual([again.body, again.headers], [body, { 'Idempotent-Replayed': 'true' }]);
  });
});
